#include <chrono>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "cli/sessions_command.hpp"

namespace allm::cli {
namespace {

constexpr std::size_t kEntriesAtOnce = 500;

// A wait ends now and then, so that a store which was unavailable is asked again.
constexpr std::chrono::milliseconds kLongestWait = std::chrono::seconds(30);

std::string text_member(const Json& body, const char* name) {
  const auto found = body.find(name);
  if (found == body.end()) return {};
  return found->is_string() ? found->get<std::string>() : found->dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Shows entries of a log to a person: the text of the model on `out`, everything else on `errors`.
class LogDisplay {
 public:
  explicit LogDisplay(const SessionsOutput& output) : output_(output) {}

  void show(const LogEntry& entry) {
    if (output_.json) return show_json(entry);
    if (entry.kind == "run_started") return note(fmt::format("[{}] run started", entry.number));
    if (entry.kind == "run_resumed") return note(fmt::format("[{}] run resumed by another worker", entry.number));
    if (entry.kind == "event") show_event(entry.body);
    if (is_end(entry)) show_end(entry);
  }
  // Whether the entry is the end of a run.
  static bool is_end(const LogEntry& entry) {
    return entry.kind == "run_ended" || entry.kind == "suspended" || entry.kind == "order_refused";
  }

 private:
  void show_json(const LogEntry& entry) const {
    const Json line = {{"number", entry.number},
                       {"kind", entry.kind},
                       {"at", entry.at.time_since_epoch().count()},
                       {"body", entry.body}};
    output_.out.write(write_json(line).value_or("{}") + "\n");
  }
  void show_event(const Json& body) {
    const std::string type = text_member(body, "type");
    if (type == "text_delta") {
      const std::string delta = text_member(body, "delta");
      output_.out.write(output_.out.interactive() ? printable_lines(delta) : delta);
      if (!delta.empty()) ends_line_ = delta.ends_with('\n');
    } else if (type == "message_completed") {
      end_line();
    } else if (type == "tool_execution_started") {
      note("-> " + text_member(body, "name") + " " + text_member(body, "arguments"));
    } else if (type == "ask_user_requested") {
      end_line();
      output_.out.write(printable_lines(text_member(body, "question")) + "\n");
    }
  }
  void show_end(const LogEntry& entry) {
    const auto error = entry.body.find("error");
    if (error == entry.body.end()) return note(fmt::format("[{}] {}", entry.number, entry.kind));
    const auto data = error->is_object() ? error->find("data") : error->end();
    const bool tagged = error->is_object() && data != error->end() && data->is_object();
    note(fmt::format("[{}] failed: {}", entry.number,
                     tagged ? text_member(*data, "message") : text_member(entry.body, "error")));
  }
  void end_line() {
    if (!ends_line_) output_.out.write("\n");
    ends_line_ = true;
  }
  void note(const std::string& text) {
    constexpr std::size_t kWidth = 200;
    end_line();
    output_.errors.write(output_.errors.paint(Style::dim, printable(text.substr(0, kWidth))) + "\n");
  }

  const SessionsOutput& output_;
  bool ends_line_ = true;
};

// Notices the end of the followed run.
class RunWatch {
 public:
  explicit RunWatch(std::optional<std::int64_t> job) : job_(job) {}

  void add(const LogEntry& entry) {
    if (entry.kind == "event") return;
    if (const auto job = entry.body.find("job"); job != entry.body.end() && job->is_number_integer()) {
      current_job_ = job->get<std::int64_t>();
    }
    const bool ended = LogDisplay::is_end(entry) && (!job_ || current_job_ == job_);
    // A run that follows the run of the job is not waited for.
    if (has_ended_ && job_) return;
    has_ended_ = ended;
    has_failed_ = ended && entry.body.contains("error");
    if (LogDisplay::is_end(entry)) current_job_.reset();
  }
  bool has_ended() const { return has_ended_; }
  bool has_failed() const { return has_failed_; }

 private:
  std::optional<std::int64_t> job_;
  std::optional<std::int64_t> current_job_;
  bool has_ended_ = false;
  bool has_failed_ = false;
};

}  // namespace

int follow_session(Store& store, const FollowArguments& arguments, const SessionsOutput& output) {
  LogDisplay display(output);
  RunWatch watch(arguments.job);
  std::int64_t last = arguments.after;
  while (true) {
    const auto entries = store.read_log(arguments.id, last, kEntriesAtOnce);
    if (!entries) return fail_sessions(output, entries.error().message());
    for (const LogEntry& entry : *entries) {
      display.show(entry);
      last = entry.number;
      watch.add(entry);
    }
    if (!entries->empty()) continue;
    if (!arguments.stay && watch.has_ended()) return watch.has_failed() ? 1 : 0;
    if (auto more = store.wait_for_log(arguments.id, last, kLongestWait); !more) {
      return fail_sessions(output, more.error().message());
    }
  }
}

CommandSpec follow_spec() {
  auto arguments = std::make_shared<FollowArguments>();
  CommandSpec spec{.name = "follow",
                   .summary = "Show a run while it goes on, from any process",
                   .description = "Begins with the first entry of the session's log.",
                   .exit_codes = {{0, "The run was completed."},
                                  {1, "The run failed, or the store refused an operation."},
                                  {2, "The command line is wrong."}}};
  spec.options = {id_argument(&arguments->id, "The session."),
                  {.names = "--after",
                   .value = "N",
                   .help = "Show the entries of the log after this number.",
                   .target = &arguments->after},
                  {.names = "--job",
                   .value = "N",
                   .help = "End after the run of this job. Default: after the last run.",
                   .target = &arguments->job},
                  {.names = "--stay", .help = "Wait for further runs.", .target = &arguments->stay}};
  return on_store(std::move(spec), [arguments](Store& store, const SessionsOutput& output, std::FILE*) {
    return follow_session(store, *arguments, output);
  });
}

}  // namespace allm::cli
