// Handlers that never return: every call still gets a result, the run continues, and the process exits cleanly while
// the handlers are blocked. This is a program of its own, because the threads exist until the process exits.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <semaphore>
#include <string>

#include <gtest/gtest.h>

#include "allm/allm.hpp"
#include "allm/fake.hpp"

#include "runtime/test_waits.hpp"

namespace allm::overdue_test {
namespace {

constexpr std::size_t kCalls = 1000;

// Never released, and never destroyed because handlers wait for it until the process exits.
std::counting_semaphore<>& never() {
  static auto* const semaphore = new std::counting_semaphore<>(0);
  return *semaphore;
}
std::atomic<std::size_t>& entered() {
  static auto* const count = new std::atomic<std::size_t>(0);
  return *count;
}

Tool hangs() {
  return {.name = "hang", .handler = [](const Json&) {
            ++entered();
            never().acquire();
            return ok("never");
          }};
}

FakeScript hang_and_go_on(std::size_t calls) {
  FakeCallScript turn;
  for (std::size_t i = 0; i < calls; ++i) turn.push_back(fake_tool_call("c" + std::to_string(i), "hang"));
  turn.push_back(fake_finish(FinishReason::tool_calls));
  return {turn, {fake_text("moved on"), fake_finish(FinishReason::stop)}};
}

Result<ChatResult> run(std::size_t calls) {
  const Engine engine({.adapter = fake(hang_and_go_on(calls)), .tools = {hangs()}});
  return chat(engine, {user("hi")}, {.tool_timeout = std::chrono::milliseconds(10), .max_concurrency = 32});
}

std::size_t timeouts(const ChatResult& result) {
  std::size_t count = 0;
  for (const Message& message : result.steps.at(0).tool_results) {
    count += Json::parse(message.text()).value("reason", "") == "timeout" ? 1 : 0;
  }
  return count;
}

TEST(Overdue, AChatIsAnsweredWhileAThousandHandlersNeverReturn) {
  const Result<ChatResult> result = run(kCalls);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(timeouts(*result), kCalls);
  EXPECT_EQ(result->text(), "moved on");
  EXPECT_EQ(result->halted_reason(), "completed");

  // On a busy machine a call can time out before it has a thread; no thread is set aside for it. Run the missing calls.
  while (entered() < kCalls) {
    const std::size_t missing = kCalls - entered();
    const Result<ChatResult> more = run(missing);
    ASSERT_TRUE(more.has_value());
    EXPECT_EQ(timeouts(*more), missing);
  }
  const auto stats = [] { return Runtime::process()->stats(); };
  // A call that timed out before its turn is counted as running for a moment.
  testing::eventually([&] { return stats().set_aside == kCalls && stats().running == kCalls && stats().queued == 0; },
                      "1,000 set aside");

  // New calls still run.
  const auto batch = run_tool_calls({ToolCall{.id = "c0", .name = "quick"}},
                                    {Tool{.name = "quick", .handler = [](const Json&) { return ok("here"); }}});
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->messages[0].text(), "here");
}

}  // namespace
}  // namespace allm::overdue_test
