#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

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

// What a run has shown so far. A resumed run begins again from its start: what was shown already is not shown again.
// Texts come in pieces, which may be cut differently; everything else is a note.
class ShownRun {
 public:
  void begin() { *this = {}; }
  void begin_again() {
    replayed_ = 0;
    offset_ = 0;
  }
  // The part of the text that is new. `starts_over`: an earlier text stands where this one begins.
  struct NewText {
    std::string text = {};
    bool starts_over = false;
  };
  NewText add_text(const std::string& piece) {
    if (replayed_ == items_.size()) items_.push_back({.is_text = true});
    std::string& shown = items_[replayed_].text;
    const bool is_same_kind = items_[replayed_].is_text;
    const std::size_t common = std::min(shown.size() - std::min(offset_, shown.size()), piece.size());
    if (!is_same_kind || shown.compare(offset_, common, piece, 0, common) != 0) {
      std::string whole = (is_same_kind ? shown.substr(0, offset_) : std::string()) + piece;
      items_.resize(replayed_);
      items_.push_back({.is_text = true, .text = whole});
      offset_ = whole.size();
      return {std::move(whole), true};
    }
    shown += piece.substr(common);
    offset_ += piece.size();
    return {piece.substr(common)};
  }
  // The end of a text. True if its line has to be ended now.
  bool end_text() {
    if (replayed_ == items_.size() || !items_[replayed_].is_text) return false;
    items_[replayed_].text.resize(offset_);
    offset_ = 0;
    ++replayed_;
    return replayed_ == items_.size();
  }
  // True if the note is to be shown.
  bool add_note(const std::string& note) {
    if (replayed_ < items_.size() && !items_[replayed_].is_text && items_[replayed_].text == note) {
      ++replayed_;
      return false;
    }
    items_.resize(replayed_);
    items_.push_back({.is_text = false, .text = note});
    ++replayed_;
    return true;
  }

 private:
  struct Item {
    bool is_text = false;
    std::string text = {};
  };
  std::vector<Item> items_;
  std::size_t replayed_ = 0;  // the item that comes next
  std::size_t offset_ = 0;    // in its text
};

// Shows entries of a log to a person: the text of the model on `out`, everything else on `errors`.
class LogDisplay {
 public:
  explicit LogDisplay(const SessionsOutput& output) : output_(output) {}

  void show(const LogEntry& entry) {
    if (output_.json) return show_json(entry);
    if (entry.kind == "event") return show_event(entry.body);
    if (entry.kind == "run_started") {
      run_.begin();
      note(fmt::format("[{}] run started", entry.number));
    } else if (entry.kind == "run_resumed") {
      run_.begin_again();
      note(fmt::format("[{}] run resumed by another worker", entry.number));
    } else if (entry.kind == "attempt_failed") {
      note(fmt::format("[{}] failed, to be tried again: {}", entry.number, error_text(entry.body)));
    } else if (entry.kind == "job_given_up") {
      note(fmt::format("[{}] {}", entry.number, given_up_text(entry.body)));
    } else if (is_end(entry)) {
      show_end(entry);
    }
  }
  // Whether the entry is the end of a run.
  static bool is_end(const LogEntry& entry) {
    return entry.kind == "run_ended" || entry.kind == "suspended" || entry.kind == "order_refused" ||
           entry.kind == "job_given_up";
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
      show_text(text_member(body, "delta"));
    } else if (type == "message_completed") {
      if (run_.end_text()) end_line();
    } else if (type == "tool_execution_started") {
      event_note("-> " + text_member(body, "name") + " " + text_member(body, "arguments"));
    } else if (type == "ask_user_requested") {
      const std::string question = text_member(body, "question");
      if (!run_.add_note(question)) return;
      end_line();
      output_.out.write(printable_lines(question) + "\n");
    }
  }
  void show_text(const std::string& delta) {
    const ShownRun::NewText shown = run_.add_text(delta);
    if (shown.starts_over) note("the model answers again:");
    if (shown.text.empty()) return;
    output_.out.write(output_.out.interactive() ? printable_lines(shown.text) : shown.text);
    ends_line_ = shown.text.ends_with('\n');
  }
  void show_end(const LogEntry& entry) {
    note(entry.body.contains("error") ? fmt::format("[{}] failed: {}", entry.number, error_text(entry.body))
                                      : fmt::format("[{}] {}", entry.number, entry.kind));
  }
  // The message of the error in the body.
  static std::string error_text(const Json& body) {
    const auto error = body.find("error");
    const auto data = error->is_object() ? error->find("data") : error->end();
    const bool tagged = error->is_object() && data != error->end() && data->is_object();
    return tagged ? text_member(*data, "message") : text_member(body, "error");
  }
  void end_line() {
    if (!ends_line_) output_.out.write("\n");
    ends_line_ = true;
  }
  void event_note(const std::string& text) {
    if (run_.add_note(text)) note(text);
  }
  void note(const std::string& text) {
    constexpr std::size_t kWidth = 200;
    end_line();
    output_.errors.write(output_.errors.paint(Style::dim, printable(text.substr(0, kWidth))) + "\n");
  }

  const SessionsOutput& output_;
  ShownRun run_;
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
    has_failed_ = ended && (entry.body.contains("error") || entry.kind == "job_given_up");
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
