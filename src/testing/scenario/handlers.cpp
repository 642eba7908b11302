#include "testing/scenario/handlers.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "allm/scenario.hpp"
#include "allm/validate.hpp"

#include "data/path.hpp"
#include "lanes/lanes.hpp"
#include "lanes/worker_process.hpp"
#include "runtime/runtime_impl.hpp"
#include "testing/scenario/or_null.hpp"
#include "testing/scenario/reader.hpp"

namespace allm::scenario {
namespace {

using Function = std::function<ToolOutcome(const Json&, const ToolContext&)>;

// Thrown by {"throw": value}. Deliberately not a std::exception.
struct ThrownValue {
  Json value;
};

// Text that is not valid UTF-8, so it cannot be written as JSON.
constexpr std::string_view kNotUtf8 = "\xff\xfe";

ToolOutcome describe_context(const ToolContext& context) {
  const ToolCall& call = context.tool_call();
  return ok({{"context", context.context()},
             {"session_id", or_null(context.session_id())},
             {"request_id", context.request_id()},
             {"tool_call",
              {{"id", call.id},
               {"name", call.name},
               {"arguments", call.arguments},
               {"raw_arguments", or_null(call.raw_arguments)}}}});
}

// Returns false if the call is asked to stop before the time has passed.
bool sleep_for(std::chrono::milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wakeup;
  std::unique_lock lock(mutex);
  wakeup.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

Function parse(const Json& form, const Path& path, ScenarioErrors& errors);

Function parse_halt(const Json& value, const Path& path, ScenarioErrors& errors) {
  const Reader reader(value, path, {"reason", "result"}, errors);
  const auto reason = reader.required_text("reason");
  const Json* result = reader.find("result");
  if (!reason) return {};
  return [outcome = halt(*reason, result == nullptr ? Json(nullptr) : *result)](const Json&, const ToolContext&) {
    return outcome;
  };
}

Function parse_ask_user(const Json& value, const Path& path, ScenarioErrors& errors) {
  const Reader reader(value, path, {"question", "options"}, errors);
  const auto question = reader.required_text("question");
  const Json* options = reader.object("options");
  if (!question) return {};
  return [outcome = ask_user(*question, options == nullptr ? Json::object() : *options)](
             const Json&, const ToolContext&) { return outcome; };
}

Function parse_sleep(const Json& value, const Path& path, ScenarioErrors& errors) {
  const Reader reader(value, path, {"ms", "then"}, errors);
  reader.require("ms");
  const auto time = reader.count("ms", kMaxMilliseconds);
  const Json* then = reader.require("then");
  Function next = then == nullptr ? Function() : parse(*then, extended(path, "then"), errors);
  if (!time || !next) return {};
  return [time = std::chrono::milliseconds(*time), next = std::move(next)](const Json& arguments,
                                                                           const ToolContext& context) {
    if (!sleep_for(time, context.stop_token())) return failure("stopped");
    return next(arguments, context);
  };
}

Function parse_sequence(const Json& value, const Path& path, ScenarioErrors& errors) {
  if (!value.is_array() || value.empty()) {
    errors.add(path, "invalid_type", "expected an array of at least one handler");
    return {};
  }
  struct Sequence {
    std::vector<Function> functions;
    std::atomic<std::size_t> calls = 0;
  };
  auto sequence = std::make_shared<Sequence>();
  for (std::size_t i = 0; i < value.size(); ++i) {
    sequence->functions.push_back(parse(value[i], extended(path, static_cast<std::int64_t>(i)), errors));
  }
  return [sequence](const Json& arguments, const ToolContext& context) {
    const std::size_t turn = std::min(sequence->calls++, sequence->functions.size() - 1);
    return sequence->functions[turn](arguments, context);
  };
}

Function parse_raise(const Json& value, const Path& path, ScenarioErrors& errors) {
  if (!value.is_string()) {
    errors.add(path, "invalid_type", "expected a text");
    return {};
  }
  return [text = value.get<std::string>()](const Json&, const ToolContext&) -> ToolOutcome {
    throw std::runtime_error(text);
  };
}

Function parse_exit(const Json& value, const Path& path, ScenarioErrors& errors) {
  if (!value.is_number_integer() || value < 0 || value > 255) {
    errors.add(path, "invalid_type", "expected an exit status from 0 to 255");
    return {};
  }
  return [status = value.get<int>()](const Json&, const ToolContext&) -> ToolOutcome { std::_Exit(status); };
}

Function parse_crash(const Json& value, const Path& path, ScenarioErrors& errors) {
  for (int signal = 1; value.is_string() && signal < NSIG; ++signal) {
    const char* const name = sigabbrev_np(signal);
    if (name == nullptr || value.get_ref<const std::string&>() != std::string("SIG") + name) continue;
    return [signal](const Json&, const ToolContext&) -> ToolOutcome {
      std::signal(signal, SIG_DFL);
      sigset_t unblocked;
      sigemptyset(&unblocked);
      sigaddset(&unblocked, signal);
      pthread_sigmask(SIG_UNBLOCK, &unblocked, nullptr);
      std::raise(signal);
      return failure("the signal did not end the process");
    };
  }
  errors.add(path, "invalid_type", "expected a signal's name, such as SIGSEGV");
  return {};
}

// For forms whose only valid value is `true`.
Function when_true(const Json& value, const Path& path, ScenarioErrors& errors, Function function) {
  if (value == true) return function;
  errors.add(path, "invalid_type", "expected true");
  return {};
}

Function parse_parts(const Json& value, const Path& path, ScenarioErrors& errors) {
  Result<std::vector<Part>> parts = parts_from_json(value);
  if (!parts) {
    errors.add(path, "invalid_type", "expected a list of parts: " + parts.error().message());
    return {};
  }
  return [parts = *std::move(parts)](const Json&, const ToolContext&) { return ok(parts); };
}

struct HandlerForm {
  std::string_view name;
  Function (*make)(const Json& value, const Path& path, ScenarioErrors& errors);
};

constexpr std::array<HandlerForm, 14> kHandlerForms = {{
    {"ok",
     [](const Json& value, const Path&, ScenarioErrors&) -> Function {
       return [value](const Json&, const ToolContext&) { return ok(value); };
     }},
    {"ok_parts", parse_parts},
    {"error",
     [](const Json& value, const Path&, ScenarioErrors&) -> Function {
       return [value](const Json&, const ToolContext&) { return failure(value); };
     }},
    {"throw",
     [](const Json& value, const Path&, ScenarioErrors&) -> Function {
       return [value](const Json&, const ToolContext&) -> ToolOutcome { throw ThrownValue{value}; };
     }},
    {"echo",
     [](const Json& value, const Path& path, ScenarioErrors& errors) {
       return when_true(value, path, errors, [](const Json& arguments, const ToolContext&) { return ok(arguments); });
     }},
    {"context",
     [](const Json& value, const Path& path, ScenarioErrors& errors) {
       return when_true(value, path, errors,
                        [](const Json&, const ToolContext& context) { return describe_context(context); });
     }},
    {"unencodable",
     [](const Json& value, const Path& path, ScenarioErrors& errors) {
       return when_true(value, path, errors, [](const Json&, const ToolContext&) { return ok(std::string(kNotUtf8)); });
     }},
    {"ask_user", parse_ask_user},
    {"halt", parse_halt},
    {"raise", parse_raise},
    {"sleep", parse_sleep},
    {"sequence", parse_sequence},
    {"exit", parse_exit},
    {"crash", parse_crash},
}};

Function parse(const Json& form, const Path& path, ScenarioErrors& errors) {
  if (!form.is_object() || form.size() != 1) {
    errors.add(path, "invalid_type", "expected an object with one key, which says what the handler does");
    return {};
  }
  const std::string& name = form.begin().key();
  const Path below = extended(path, name);
  const auto* found = std::ranges::find(kHandlerForms, name, &HandlerForm::name);
  if (found == kHandlerForms.end()) {
    errors.add(below, "unknown_handler", "no such handler");
    return {};
  }
  return found->make(form.begin().value(), below, errors);
}

bool ends_process(const Json& form) {
  if (!form.is_object() || form.size() != 1) return false;
  const std::string& name = form.begin().key();
  const Json& value = form.begin().value();
  if (name == "exit" || name == "crash") return true;
  if (name == "sleep") return value.is_object() && value.contains("then") && ends_process(value["then"]);
  return name == "sequence" && value.is_array() && std::ranges::any_of(value, &ends_process);
}

// Sends the form to a worker with each call. The element of a `sequence` is chosen here, because a worker does not see
// the calls that run in other workers.
class IsolatedHandler {
 public:
  explicit IsolatedHandler(Json form) : form_(std::move(form)), turns_(std::make_shared<Turns>()) {}

  void operator()(const Json& arguments, const ToolContext& context, ToolCompletion done) const {
    Json form = form_;
    take_turns(form, "");
    const auto lanes = RuntimeAccess::impl(*context.engine().runtime()).service<Lanes>();
    lanes->run_entry(std::string(kEntry), form, {}, arguments, context, std::move(done));
  }

  static constexpr std::string_view kEntry = "scenario";

 private:
  struct Turns {
    std::mutex mutex;
    std::map<std::string, std::size_t> counts;  // calls so far, by the position of the sequence in the form
  };

  void take_turns(Json& form, const std::string& place) const {
    if (form.contains("sequence")) {
      const Json& list = form["sequence"];
      std::size_t turn = 0;
      {
        const std::lock_guard lock(turns_->mutex);
        turn = std::min(turns_->counts[place]++, list.size() - 1);
      }
      Json chosen = list[turn];
      form = std::move(chosen);
      take_turns(form, place + "/" + std::to_string(turn));
    } else if (form.contains("sleep")) {
      take_turns(form["sleep"]["then"], place + "/then");
    }
  }

  const Json form_;
  const std::shared_ptr<Turns> turns_;
};

}  // namespace

Handler make_handler(const Json& form, const Path& path, Lane lane, ScenarioErrors& errors) {
  Function function = parse(form, path, errors);
  if (!function) return {};
  if (lane == Lane::worker || ends_process(form)) return IsolatedHandler(form);
  return function;
}

void register_handler_entry() {
  register_worker_entry(
      std::string(IsolatedHandler::kEntry),
      [](const Json& form, const Json& arguments, const ToolContext& context, const ToolCompletion& done) {
        ScenarioErrors errors;
        const Function function = parse(form, {}, errors);
        done(function ? function(arguments, context) : failure("no such handler"));
      });
}

}  // namespace allm::scenario

namespace allm {

void register_scenario_workers() { scenario::register_handler_entry(); }

}  // namespace allm
