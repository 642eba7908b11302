#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "allm/engine.hpp"
#include "allm/tool_runner.hpp"

#include "testing/conformance/report.hpp"

namespace allm {
namespace conformance {
namespace {

// How long a late answer waits for execute() to return. The wait is limited because the executor may itself wait for
// the answer inside execute().
constexpr std::chrono::milliseconds kMostWait(200);

// The answers of one call.
struct Answers {
  std::vector<ToolOutcome> outcomes;
  bool returned = false;  // execute() has returned
  bool released = false;  // the executor has destroyed its completions, so no answer can follow
};

// What an executor answered, by call id. Safe to call from any thread.
class AnswerLog {
 public:
  void answered(const std::string& id, const ToolOutcome& outcome) {
    const std::lock_guard lock(mutex_);
    calls_[id].outcomes.push_back(outcome);
  }
  void released(const std::string& id) {
    const std::lock_guard lock(mutex_);
    calls_[id].released = true;
    changed_.notify_all();
  }
  void returned(const std::string& id) {
    const std::lock_guard lock(mutex_);
    calls_[id].returned = true;
    changed_.notify_all();
  }
  void wait_for_return(const std::string& id, std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout, [&] { return calls_[id].returned; });
  }
  // Blocks until the executor can give no more answers to the call, at most for `timeout`.
  Answers of(const std::string& id, std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout, [&] { return calls_[id].released; });
    return calls_[id];
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Answers> calls_;
};

// Logs the answers and passes them on.
class LoggingSink : public ToolCompletion::Sink {
 public:
  LoggingSink(ToolCompletion done, std::string id, std::shared_ptr<AnswerLog> log)
      : done_(std::move(done)), id_(std::move(id)), log_(std::move(log)) {}
  ~LoggingSink() override { log_->released(id_); }
  LoggingSink(const LoggingSink&) = delete;
  LoggingSink& operator=(const LoggingSink&) = delete;

  bool complete(ToolOutcome outcome) override {
    log_->answered(id_, outcome);
    return done_(std::move(outcome));
  }

 private:
  ToolCompletion done_;
  std::string id_;
  std::shared_ptr<AnswerLog> log_;  // the executor may answer after the check is over
};

class LoggingExecutor : public ToolExecutor {
 public:
  LoggingExecutor(std::shared_ptr<ToolExecutor> inner, std::shared_ptr<AnswerLog> log)
      : inner_(std::move(inner)), log_(std::move(log)) {}
  void execute(const Tool& tool, const Json& arguments, const ToolContext& context, ToolCompletion done) override {
    auto sink = std::make_shared<LoggingSink>(std::move(done), context.tool_call().id, log_);
    inner_->execute(tool, arguments, context, ToolCompletion(std::move(sink)));
    log_->returned(context.tool_call().id);
  }

 private:
  std::shared_ptr<ToolExecutor> inner_;
  std::shared_ptr<AnswerLog> log_;
};

// Whether a handler saw that its call was asked to stop. Shared with the handler, which may outlive the check.
class StopSeen {
 public:
  // Called by the handler: blocks until the call is asked to stop, at most for `timeout`.
  void wait_for(const std::stop_token& token, std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    entered_ = true;
    changed_.wait_for(lock, token, timeout, [] { return false; });
    stopped_ = token.stop_requested();
    changed_.notify_all();
  }
  bool entered() {
    const std::lock_guard lock(mutex_);
    return entered_;
  }
  bool stopped(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, timeout, [&] { return stopped_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool entered_ = false;
  bool stopped_ = false;
};

class ExecutorChecks {
 public:
  ExecutorChecks(std::shared_ptr<ToolExecutor> executor, const ExecutorConformanceOptions& options)
      : executor_(std::move(executor)), options_(options) {}

  Finding outcomes_are_passed_on() {
    const std::vector<std::pair<std::string, ToolOutcome>> cases = {
        {"ok", ok({{"answer", 42}})},
        {"failure", failure("no such file")},
        {"ask_user", ask_user("Which one?", {{"choices", {"a", "b"}}})},
        {"halt", halt("conformance_check", {{"why", "asked to"}})}};
    for (const auto& [name, outcome] : cases) {
      const Answers answers = run_one(plain_tool(name, outcome));
      if (answers.outcomes.empty()) return "the handler returned " + name + " and the executor did not answer";
      if (answers.outcomes.front() != outcome) {
        return "the handler returned " + name + " and the executor answered something else";
      }
    }
    return std::nullopt;
  }

  Finding answers_exactly_once() {
    std::vector<ExecutorConformanceOptions::Call> calls = options_.calls;
    if (options_.runs_handlers) calls.push_back({.tool = plain_tool("once", ok(1))});
    for (const auto& [tool, arguments] : calls) {
      const Answers answers = run_one(tool, arguments);
      if (answers.outcomes.empty() && answers.released) {
        return "the executor dropped the completion of '" + tool.name + "' without an answer";
      }
      if (answers.outcomes.empty()) return "the executor did not answer the call of '" + tool.name + "'";
      if (answers.outcomes.size() > 1) {
        return "the executor answered the call of '" + tool.name + "' " + std::to_string(answers.outcomes.size()) +
               " times; only the first answer counts";
      }
    }
    return std::nullopt;
  }

  Finding arguments_and_context_reach_the_handler() {
    const Json arguments = {{"city", "Rome"}};
    const Tool tool{.name = "look", .handler = [](const Json& given, const ToolContext& context) {
                      return ok({{"arguments", given}, {"id", context.tool_call().id}, {"context", context.context()}});
                    }};
    const Answers answers = run_one(tool, arguments);
    const Json expected = {{"arguments", arguments}, {"id", "look"}, {"context", context()}};
    if (!answers.outcomes.empty() && answers.outcomes.front() == ToolOutcome(ok(expected))) return std::nullopt;
    return "the handler did not get the arguments and the ToolContext that execute() was given; pass both on unchanged";
  }

  Finding exceptions_become_handler_raised() {
    const Tool tool{.name = "throws", .handler = [](const Json&) -> ToolOutcome { throw ConformanceException(); }};
    const Json said = run_message(tool);
    if (said.is_object() && said.value("reason", "") == "handler_raised") return std::nullopt;
    return "the handler threw and the result is not ToolError handler_raised, but: " + said.dump() +
           ". Let the exception pass, or answer with that error.";
  }

  Finding late_answers_are_passed_on() {
    const auto log = std::make_shared<AnswerLog>();
    const Tool tool{.name = "late", .handler = [log](const Json&, const ToolCompletion& done) {
                      std::thread([log, done] {
                        log->wait_for_return("late", kMostWait);
                        done(ok("late"));
                      }).detach();
                    }};
    const auto batch = run({{.id = tool.name, .name = tool.name}}, {tool}, log);
    if (batch && batch->messages.at(0).text() == "late") return std::nullopt;
    return "the handler answered through its completion from another thread, and the answer was lost";
  }

  Finding the_stop_token_reaches_the_handler() {
    // At its deadline the call is asked to stop. On a busy machine the deadline can pass before the handler has a
    // thread; then the handler never runs, and the check tries a later deadline.
    for (std::chrono::milliseconds deadline(20); deadline <= options_.timeout; deadline *= 2) {
      const auto seen = std::make_shared<StopSeen>();
      const auto log = std::make_shared<AnswerLog>();
      const auto batch = run({{.id = "stops", .name = "stops"}}, {stoppable(seen, deadline)}, log);
      if (!batch) return batch.error().message();
      if (!seen->entered()) continue;
      if (seen->stopped(options_.timeout)) return std::nullopt;
      return "the deadline passed and the stop token that the handler sees was not asked to stop";
    }
    return "the handler was never called";
  }

  Finding calls_at_once() {
    std::vector<ToolCall> calls;
    calls.reserve(options_.concurrency);
    for (std::size_t i = 0; i < options_.concurrency; ++i) {
      calls.push_back({.id = "c" + std::to_string(i), .name = "echo", .arguments = {{"number", i}}});
    }
    const Tool echo{.name = "echo", .handler = [](const Json& arguments) { return ok(arguments.value("number", -1)); }};
    const auto log = std::make_shared<AnswerLog>();
    const auto batch = run(calls, {echo}, log);
    if (!batch) return batch.error().message();
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (batch->messages[i].text() != std::to_string(i)) {
        return "of " + std::to_string(calls.size()) + " calls at once, call " + std::to_string(i) + " was answered " +
               batch->messages[i].text() + ". execute() is called by several threads.";
      }
    }
    return std::nullopt;
  }

  Finding a_missing_handler_is_a_failure() {
    const Answers answers = run_one(Tool{.name = "empty"});
    if (!answers.outcomes.empty() && std::holds_alternative<ToolFailure>(answers.outcomes.front())) return std::nullopt;
    return "a tool without a handler was not answered with a failure; answer ToolError not_found";
  }

 private:
  struct ConformanceException : std::exception {
    const char* what() const noexcept override { return "thrown by the conformance suite"; }
  };
  static Json context() { return {{"tenant", "conformance"}}; }
  static Tool plain_tool(const std::string& name, ToolOutcome outcome) {
    return {.name = name, .handler = [outcome = std::move(outcome)](const Json&) { return outcome; }};
  }

  Tool stoppable(const std::shared_ptr<StopSeen>& seen, std::chrono::milliseconds deadline) const {
    return {.name = "stops",
            .handler =
                [seen, timeout = options_.timeout](const Json&, const ToolContext& context) {
                  seen->wait_for(context.stop_token(), timeout);
                  return ok("stopped");
                },
            .timeout = deadline};
  }

  Result<ToolBatch> run(std::vector<ToolCall> calls, std::vector<Tool> tools, std::shared_ptr<AnswerLog> log) {
    const Engine engine({.tool_executor = std::make_shared<LoggingExecutor>(executor_, std::move(log))});
    return run_tool_calls(std::move(calls), std::move(tools), {.tool_timeout = options_.timeout, .context = context()},
                          engine);
  }
  // The call's id is the tool's name.
  Answers run_one(const Tool& tool, Json arguments = Json::object()) {
    const auto log = std::make_shared<AnswerLog>();
    const auto batch = run({{.id = tool.name, .name = tool.name, .arguments = std::move(arguments)}}, {tool}, log);
    return batch ? log->of(tool.name, options_.timeout) : Answers{};
  }
  // The tool message of a call, as JSON.
  Json run_message(const Tool& tool) {
    const auto batch = run({{.id = tool.name, .name = tool.name}}, {tool}, std::make_shared<AnswerLog>());
    if (!batch) return batch.error().message();
    const std::string text = batch->messages.at(0).text();
    return parse_json(text).value_or(Json(text));
  }

  std::shared_ptr<ToolExecutor> executor_;
  const ExecutorConformanceOptions& options_;
};

struct ExecutorRule {
  const char* name;
  Finding (ExecutorChecks::*check)();
};
constexpr ExecutorRule kHandlerRules[] = {
    {"outcomes_are_passed_on", &ExecutorChecks::outcomes_are_passed_on},
    {"arguments_and_context_reach_the_handler", &ExecutorChecks::arguments_and_context_reach_the_handler},
    {"exceptions_become_handler_raised", &ExecutorChecks::exceptions_become_handler_raised},
    {"late_answers_are_passed_on", &ExecutorChecks::late_answers_are_passed_on},
    {"the_stop_token_reaches_the_handler", &ExecutorChecks::the_stop_token_reaches_the_handler},
    {"calls_at_once", &ExecutorChecks::calls_at_once},
    {"a_missing_handler_is_a_failure", &ExecutorChecks::a_missing_handler_is_a_failure},
};

}  // namespace
}  // namespace conformance

ConformanceReport check_executor(std::shared_ptr<ToolExecutor> executor, const ExecutorConformanceOptions& options) {
  using namespace conformance;
  ReportBuilder report("executor");
  ExecutorChecks checks(std::move(executor), options);
  if (!options.runs_handlers && options.calls.empty()) {
    report.skip("answers_exactly_once", "needs the option `calls`");
  } else {
    report.add("answers_exactly_once", checks.answers_exactly_once());
  }
  for (const ExecutorRule& rule : kHandlerRules) {
    if (options.runs_handlers) {
      report.add(rule.name, (checks.*rule.check)());
    } else {
      report.skip(rule.name, "needs an executor that calls handlers");
    }
  }
  return report.take();
}

}  // namespace allm
