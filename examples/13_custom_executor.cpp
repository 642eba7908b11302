// Your own way of executing tools.
//
// An executor sits between the loop and the handlers: for permissions, caches, audits, or to run
// handlers on another machine. The loop has checked the arguments before it is called and keeps the
// deadline whatever it does.
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "allm/allm.hpp"
#include "allm/conformance.hpp"
#include "allm/fake.hpp"

namespace {

int fail(const std::string& why) {
  std::cerr << "not as expected: " << why << '\n';
  return 1;
}

// Runs what is harmless, refuses the rest, and keeps a list of both.
class GuardedExecutor : public allm::ToolExecutor {
 public:
  void execute(const allm::Tool& tool, const allm::Json& arguments, const allm::ToolContext& context,
               allm::ToolCompletion done) override {
    const bool allowed = !tool.metadata.value("dangerous", false) || context.context().value("admin", false);
    note((allowed ? "ran " : "refused ") + tool.name);
    if (allowed) {
      handlers_.execute(tool, arguments, context, std::move(done));
    } else {
      done(allm::failure("this user may not call " + tool.name));
    }
  }

  std::vector<std::string> audit() const {
    const std::lock_guard lock(mutex_);
    return audit_;
  }

 private:
  // Calls come from worker threads, several at once.
  void note(std::string line) {
    const std::lock_guard lock(mutex_);
    audit_.push_back(std::move(line));
  }

  allm::DefaultToolExecutor handlers_;
  mutable std::mutex mutex_;
  std::vector<std::string> audit_;
};

allm::FakeScript script() {
  return {
      {allm::fake_tool_call("call_1", "wipe_disk"), allm::fake_finish(allm::FinishReason::tool_calls)},
      {allm::fake_tool_call("call_2", "disk_usage"), allm::fake_finish(allm::FinishReason::tool_calls)},
      {allm::fake_text("I may not wipe the disk. It is 80 % full."), allm::fake_finish(allm::FinishReason::stop)},
  };
}

}  // namespace

int main() {
  const allm::Tool usage =
      allm::tool({.name = "disk_usage", .handler = [](const allm::Json&) { return allm::ok("80 %"); }});
  const allm::Tool wipe = allm::tool({.name = "wipe_disk",
                                      .handler = [](const allm::Json&) { return allm::ok("wiped"); },
                                      .metadata = {{"dangerous", true}}});
  const auto executor = std::make_shared<GuardedExecutor>();
  const allm::Engine engine({.adapter = allm::fake(script()), .tools = {usage, wipe}, .tool_executor = executor});

  const auto result = allm::chat(engine, {allm::user("Make room.")}, {.context = allm::Json{{"admin", false}}});
  if (!result) return fail(result.error().message());
  for (const std::string& line : executor->audit()) std::cout << "audit:     " << line << '\n';
  std::cout << "tool says: " << result->steps[0].tool_results[0].text() << '\n';
  std::cout << "assistant: " << result->text() << '\n';

  if (executor->audit() != std::vector<std::string>{"refused wipe_disk", "ran disk_usage"}) return fail("the audit");

  // What the headers promise about executors can be checked: put this into a test of your own.
  // [conformance-executor]
  const allm::ConformanceReport report = allm::check_executor(std::make_shared<GuardedExecutor>());
  if (!report.passed()) return fail(report.summary());
  // [/conformance-executor]
}
