// A custom executor.
//
// An executor is called between the loop and the handlers: for permissions, caches, audits, or to run handlers on
// another machine. The loop checks the arguments before and enforces the deadline. This executor decorates the default
// executor, which finds handlers by the names of their tools: the tools themselves are pure data. At the end, a test
// calls the executor without a model.
#include <iostream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "allm/allm.hpp"
#include "allm/conformance.hpp"
#include "allm/fake.hpp"

namespace {

int fail(const std::string& why) {
  std::cerr << "not as expected: " << why << '\n';
  return 1;
}

// Refuses dangerous calls, runs all others, and logs the outcome of each call. Handlers that throw need no special
// case: the default executor turns exceptions into outcomes.
class AuditingExecutor : public allm::ToolExecutor {
 public:
  explicit AuditingExecutor(allm::Handlers handlers) : handlers_(std::move(handlers)) {}

  void execute(const allm::Tool& tool, const allm::Json& arguments, const allm::ToolContext& context,
               allm::ToolCompletion done) override {
    if (tool.metadata.value("dangerous", false) && !context.context().value("admin", false)) {
      log_->add("refused " + tool.name);
      done(allm::failure("this user may not call " + tool.name));
      return;
    }
    // Owns what it uses: a handler past its deadline may answer after the run, and after this executor was destroyed.
    const auto audited = [log = log_, name = tool.name, done](allm::ToolOutcome outcome) {
      log->add((std::holds_alternative<allm::ToolFailure>(outcome) ? "failed " : "ran ") + name);
      return done(std::move(outcome));
    };
    handlers_.execute(tool, arguments, context, allm::ToolCompletion(audited));
  }

  std::vector<std::string> audit() const { return log_->lines(); }

 private:
  // Written from pool threads, several at once.
  class Log {
   public:
    void add(std::string line) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(std::move(line));
    }
    std::vector<std::string> lines() const {
      const std::lock_guard lock(mutex_);
      return lines_;
    }

   private:
    mutable std::mutex mutex_;
    std::vector<std::string> lines_;
  };

  allm::DefaultToolExecutor handlers_;
  const std::shared_ptr<Log> log_ = std::make_shared<Log>();
};

allm::Handlers handlers() {
  return {
      {"disk_usage", [](const allm::Json&) { return allm::ok("80 %"); }},
      {"wipe_disk", [](const allm::Json&) -> allm::ToolOutcome { throw std::runtime_error("the disk is busy"); }},
  };
}

allm::FakeScript script() {
  return {
      {allm::fake_tool_call("call_1", "wipe_disk"), allm::fake_finish(allm::FinishReason::tool_calls)},
      {allm::fake_tool_call("call_2", "disk_usage"), allm::fake_finish(allm::FinishReason::tool_calls)},
      {allm::fake_text("I may not wipe the disk. It is 80 % full."), allm::fake_finish(allm::FinishReason::stop)},
  };
}

// A unit test of the executor: one call with a test context, without a model or a run.
bool failure_is_audited(const allm::Tool& wipe) {
  AuditingExecutor executor(handlers());
  const auto context = allm::ToolContext::for_testing({.tool = wipe.name, .context = {{"admin", true}}});
  const allm::ToolOutcome outcome = allm::execute_and_wait(executor, wipe, allm::Json::object(), context);
  const auto* failure = std::get_if<allm::ToolFailure>(&outcome);
  if (failure == nullptr || failure->reported()) return false;
  const allm::Error& error = std::get<allm::Error>(failure->reason);
  std::cout << "test:      " << error.message() << '\n';
  return error.cause() != nullptr && executor.audit() == std::vector<std::string>{"failed wipe_disk"};
}

}  // namespace

int main() {
  const allm::Tool usage = {.name = "disk_usage"};
  const allm::Tool wipe = {.name = "wipe_disk", .metadata = {{"dangerous", true}}};
  const auto executor = std::make_shared<AuditingExecutor>(handlers());
  const allm::Engine engine({.adapter = allm::fake(script()), .tools = {usage, wipe}, .tool_executor = executor});

  const auto result = allm::chat(engine, {allm::user("Make room.")}, {.context = allm::Json{{"admin", false}}});
  if (!result) return fail(result.error().message());
  for (const std::string& line : executor->audit()) std::cout << "audit:     " << line << '\n';
  std::cout << "tool says: " << result->steps[0].tool_results[0].text() << '\n';
  std::cout << "assistant: " << result->text() << '\n';

  if (executor->audit() != std::vector<std::string>{"refused wipe_disk", "ran disk_usage"}) return fail("the audit");
  if (!failure_is_audited(wipe)) return fail("the audit of a call that failed");

  // Checks the rules that the headers state for executors. Put this into a test of your own.
  // [conformance-executor]
  const allm::ConformanceReport report = allm::check_executor(std::make_shared<AuditingExecutor>(handlers()));
  if (!report.passed()) return fail(report.summary());
  // [/conformance-executor]
}
