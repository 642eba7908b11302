#include "scenario/handlers.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "scenario/reader.hpp"

namespace allm::scenario {
namespace {

using Function = std::function<ToolOutcome(const Json&, const ToolContext&)>;

// Thrown by {"throw": value}: deliberately no std::exception.
struct ThrownValue {
  Json value;
};

// A text that is no UTF-8, which no JSON encoder may write.
constexpr std::string_view kNoUtf8 = "\xff\xfe";

Json or_null(const std::optional<std::string>& text) { return text ? Json(*text) : Json(nullptr); }

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

// Whether the whole time passed: false if the call was asked to stop before.
bool sleep_for(std::chrono::milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wakeup;
  std::unique_lock lock(mutex);
  wakeup.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

Function parse(const Json& form, const Path& path, Problems& problems);

Function parse_halt(const Json& value, const Path& path, Problems& problems) {
  const Reader reader(value, path, {"reason", "result"}, problems);
  const auto reason = reader.required_text("reason");
  const Json* result = reader.find("result");
  if (!reason) return {};
  return [outcome = halt(*reason, result == nullptr ? Json(nullptr) : *result)](const Json&, const ToolContext&) {
    return outcome;
  };
}

Function parse_ask_user(const Json& value, const Path& path, Problems& problems) {
  const Reader reader(value, path, {"question", "options"}, problems);
  const auto question = reader.required_text("question");
  const Json* options = reader.object("options");
  if (!question) return {};
  return [outcome = ask_user(*question, options == nullptr ? Json::object() : *options)](
             const Json&, const ToolContext&) { return outcome; };
}

Function parse_sleep(const Json& value, const Path& path, Problems& problems) {
  const Reader reader(value, path, {"ms", "then"}, problems);
  reader.require("ms");
  const auto time = reader.count("ms", kMaxMilliseconds);
  const Json* then = reader.require("then");
  Function next = then == nullptr ? Function() : parse(*then, at(path, "then"), problems);
  if (!time || !next) return {};
  return [time = std::chrono::milliseconds(*time), next = std::move(next)](const Json& arguments,
                                                                           const ToolContext& context) {
    if (!sleep_for(time, context.stop_token())) return failure("stopped");
    return next(arguments, context);
  };
}

Function parse_sequence(const Json& value, const Path& path, Problems& problems) {
  if (!value.is_array() || value.empty()) {
    problems.add(path, "invalid_type", "expected an array of at least one handler");
    return {};
  }
  struct Sequence {
    std::vector<Function> functions;
    std::atomic<std::size_t> calls = 0;
  };
  auto sequence = std::make_shared<Sequence>();
  for (std::size_t i = 0; i < value.size(); ++i) {
    sequence->functions.push_back(parse(value[i], at(path, static_cast<std::int64_t>(i)), problems));
  }
  return [sequence](const Json& arguments, const ToolContext& context) {
    const std::size_t turn = std::min(sequence->calls++, sequence->functions.size() - 1);
    return sequence->functions[turn](arguments, context);
  };
}

Function parse_raise(const Json& value, const Path& path, Problems& problems) {
  if (!value.is_string()) {
    problems.add(path, "invalid_type", "expected a text");
    return {};
  }
  return [text = value.get<std::string>()](const Json&, const ToolContext&) -> ToolOutcome {
    throw std::runtime_error(text);
  };
}

Function refuse_isolated(const Json&, const Path& path, Problems& problems) {
  problems.add(path, "unsupported",
               "this handler ends the process that runs it and needs isolated execution, which this version does not "
               "have");
  return {};
}

// For the forms whose value is only `true`.
Function when_true(const Json& value, const Path& path, Problems& problems, Function function) {
  if (value == true) return function;
  problems.add(path, "invalid_type", "expected true");
  return {};
}

struct Form {
  std::string_view name;
  Function (*make)(const Json& value, const Path& path, Problems& problems);
};

constexpr std::array<Form, 13> kForms = {{
    {"ok",
     [](const Json& value, const Path&, Problems&) -> Function {
       return [value](const Json&, const ToolContext&) { return ok(value); };
     }},
    {"error",
     [](const Json& value, const Path&, Problems&) -> Function {
       return [value](const Json&, const ToolContext&) { return failure(value); };
     }},
    {"throw",
     [](const Json& value, const Path&, Problems&) -> Function {
       return [value](const Json&, const ToolContext&) -> ToolOutcome { throw ThrownValue{value}; };
     }},
    {"echo",
     [](const Json& value, const Path& path, Problems& problems) {
       return when_true(value, path, problems, [](const Json& arguments, const ToolContext&) { return ok(arguments); });
     }},
    {"context",
     [](const Json& value, const Path& path, Problems& problems) {
       return when_true(value, path, problems,
                        [](const Json&, const ToolContext& context) { return describe_context(context); });
     }},
    {"unencodable",
     [](const Json& value, const Path& path, Problems& problems) {
       return when_true(value, path, problems,
                        [](const Json&, const ToolContext&) { return ok(std::string(kNoUtf8)); });
     }},
    {"ask_user", parse_ask_user},
    {"halt", parse_halt},
    {"raise", parse_raise},
    {"sleep", parse_sleep},
    {"sequence", parse_sequence},
    {"exit", refuse_isolated},
    {"crash", refuse_isolated},
}};

Function parse(const Json& form, const Path& path, Problems& problems) {
  if (!form.is_object() || form.size() != 1) {
    problems.add(path, "invalid_type", "expected an object with one key, which says what the handler does");
    return {};
  }
  const std::string& name = form.begin().key();
  const Path below = at(path, name);
  const auto* found = std::ranges::find(kForms, name, &Form::name);
  if (found == kForms.end()) {
    problems.add(below, "unknown_handler", "no such handler");
    return {};
  }
  return found->make(form.begin().value(), below, problems);
}

}  // namespace

Handler make_handler(const Json& form, const Path& path, Problems& problems) {
  Function function = parse(form, path, problems);
  return function ? Handler(std::move(function)) : Handler();
}

}  // namespace allm::scenario
