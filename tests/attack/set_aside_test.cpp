// Handlers that ignore their deadlines, in many runs on many threads of one runtime: max_set_aside is the bound of the
// handlers that are overdue, and every place is given back, however a call ends.
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <memory>
#include <random>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "allm/allm.hpp"

#include "runtime/test_waits.hpp"
#include "tests/cases.hpp"

namespace allm::set_aside_attack_test {
namespace {

using std::chrono::milliseconds;
using testing::cases;
using testing::eventually;
using testing::Gate;
using testing::HighWater;

constexpr std::size_t kBound = 10;
constexpr int kThreads = 24;

struct Observed {
  HighWater overdue;  // handlers that are past their deadline
  std::atomic<std::size_t> timeouts{0};
  std::atomic<std::size_t> overloaded{0};
  std::atomic<std::size_t> highest_set_aside{0};
};

// Ignores its deadline and its stop token until the gate opens.
Tool stubborn(const std::shared_ptr<Gate>& may_end, const std::shared_ptr<Observed>& observed) {
  return {.name = "stubborn",
          .handler =
              [may_end, observed](const Json&, const ToolContext& context) {
                std::this_thread::sleep_until(context.deadline());
                observed->overdue.enter();
                may_end->wait();
                observed->overdue.leave();
                return ok("late");
              },
          .timeout = milliseconds(5)};
}

Tool quick() {
  return {.name = "quick", .handler = [](const Json&) { return ok("quick"); }};
}

Tool throwing() {
  return {.name = "throwing", .handler = [](const Json&) -> ToolOutcome { throw std::runtime_error("thrown"); }};
}

// Ends when it is asked to, which happens when its stream is dropped or its run is cancelled.
Tool polite() {
  return {.name = "polite", .handler = [](const Json&, const ToolContext& context) {
            Gate asked;
            const std::stop_callback callback(context.stop_token(), [&] { asked.open(); });
            asked.wait();
            return ok("stopped");
          }};
}

std::string reason_of(const Message& message) {
  const Json content = Json::parse(message.text(), nullptr, false);
  return content.is_object() ? content.value("reason", "") : "";
}

// One run with several calls, on a thread of its own.
class Attacker {
 public:
  Attacker(std::shared_ptr<Runtime> runtime, std::vector<Tool> tools, std::shared_ptr<Observed> observed, unsigned seed)
      : runtime_(std::move(runtime)),
        engine_({.runtime = runtime_}),
        tools_(std::move(tools)),
        observed_(std::move(observed)),
        random_(seed) {}

  void run() {
    switch (random_() % 4) {
      case 0:
        return drop();
      case 1:
        return cancel();
      default:
        return finish();
    }
  }

 private:
  std::vector<ToolCall> calls() {
    std::vector<ToolCall> list;
    for (std::size_t i = 0; i < 4; ++i) {
      list.push_back({.id = "c" + std::to_string(i), .name = tools_[random_() % 3].name});
    }
    return list;
  }
  void finish() {
    const Result<ToolBatch> batch = run_tool_calls(calls(), tools_, {}, engine_);
    ASSERT_TRUE(batch.has_value());
    for (const Message& message : batch->messages) {
      const std::string reason = reason_of(message);
      if (reason == "timeout") ++observed_->timeouts;
      if (reason == "overloaded") ++observed_->overloaded;
    }
    look();
  }
  void drop() {
    std::vector<ToolCall> list = calls();
    list.push_back({.id = "p", .name = "polite"});
    EventStream stream = stream_tool_calls(list, tools_, {}, engine_);
    for (std::size_t i = random_() % 6; i > 0; --i) stream.next();
    look();
  }
  void cancel() {
    std::stop_source stop;
    std::vector<ToolCall> list = calls();
    list.push_back({.id = "p", .name = "polite"});
    CallOptions options;
    options.cancel.now = stop.get_token();
    EventStream stream = stream_tool_calls(list, tools_, options, engine_);
    stream.next();
    stop.request_stop();
    while (stream.next()) {
    }
    look();
  }
  void look() {
    const std::size_t now = runtime_->stats().set_aside;
    std::size_t highest = observed_->highest_set_aside.load();
    while (now > highest && !observed_->highest_set_aside.compare_exchange_weak(highest, now)) {
    }
  }

  std::shared_ptr<Runtime> runtime_;
  Engine engine_;
  std::vector<Tool> tools_;
  std::shared_ptr<Observed> observed_;
  std::minstd_rand random_;
};

void attack(const std::shared_ptr<Runtime>& runtime, const std::shared_ptr<Observed>& observed, unsigned round) {
  const auto may_end = std::make_shared<Gate>();
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      Attacker attacker(runtime, {stubborn(may_end, observed), quick(), throwing(), polite()}, observed,
                        round * kThreads + i + 1);
      for (int run = 0; run < 4; ++run) attacker.run();
    });
  }
  threads.clear();
  may_end->open();
  const auto rest = [&] {
    const RuntimeStats stats = runtime->stats();
    return stats.set_aside == 0 && stats.running == 0 && stats.queued == 0;
  };
  eventually(rest, "the return of all handlers");
}

// As many handlers as the bound allows run at once: no place was lost.
void expect_all_places(const std::shared_ptr<Runtime>& runtime) {
  const auto meeting = std::make_shared<std::barrier<>>(static_cast<std::ptrdiff_t>(kBound));
  const Tool meets{.name = "meets", .handler = [meeting](const Json&) {
                     meeting->arrive_and_wait();
                     return ok("met");
                   }};
  std::vector<ToolCall> calls;
  for (std::size_t i = 0; i < 2 * kBound; ++i) calls.push_back({.id = "m" + std::to_string(i), .name = "meets"});
  const Result<ToolBatch> batch =
      run_tool_calls(calls, {meets}, {.max_concurrency = 2 * kBound}, Engine({.runtime = runtime}));
  ASSERT_TRUE(batch.has_value());
  for (const Message& message : batch->messages) EXPECT_EQ(message.text(), "met");
}

TEST(AttackSetAside, TheBoundHoldsAcrossThreadsAndRuns) {
  const auto runtime = Runtime::create({.max_set_aside = kBound});
  const auto observed = std::make_shared<Observed>();
  for (int round = 0; round < cases(6); ++round) attack(runtime, observed, static_cast<unsigned>(round));
  EXPECT_LE(observed->overdue.highest(), kBound) << "handlers past their deadline at once";
  EXPECT_LE(observed->highest_set_aside.load(), kBound);
  EXPECT_GT(observed->timeouts.load(), 0U);
  EXPECT_GT(observed->overloaded.load(), 0U) << "the attack did not reach the bound";
  expect_all_places(runtime);
}

TEST(AttackSetAside, CallsThatWaitAreRefusedWhenTheBoundIsReached) {
  const auto runtime = Runtime::create({.max_set_aside = 1});
  const auto may_end = std::make_shared<Gate>();
  const auto observed = std::make_shared<Observed>();
  // The second call waits for the place of the first one, which never gives it back. On a busy machine the first call
  // may time out before it has a thread.
  Tool waits = quick();
  waits.timeout = std::chrono::hours(1);
  std::string second;
  do {
    const Result<ToolBatch> batch =
        run_tool_calls({{.id = "a", .name = "stubborn"}, {.id = "b", .name = "quick"}},
                       {stubborn(may_end, observed), waits}, {}, Engine({.runtime = runtime}));
    ASSERT_TRUE(batch.has_value());
    EXPECT_EQ(reason_of(batch->messages[0]), "timeout");
    second = batch->messages[1].text();
  } while (second == "quick" && observed->overdue.highest() == 0);
  EXPECT_EQ(Json::parse(second).value("reason", ""), "overloaded") << second;
  may_end->open();
  eventually([&] { return runtime->stats().running == 0; }, "the handler's return");
}

TEST(AttackSetAside, HealthyCallsBeyondTheBoundWaitForTheirTurn) {
  const auto runtime = Runtime::create({.max_set_aside = 2});
  std::vector<ToolCall> calls;
  for (int i = 0; i < 40; ++i) calls.push_back({.id = "c" + std::to_string(i), .name = "quick"});
  const Result<ToolBatch> batch =
      run_tool_calls(calls, {quick()}, {.max_concurrency = 40}, Engine({.runtime = runtime}));
  ASSERT_TRUE(batch.has_value());
  for (const Message& message : batch->messages) EXPECT_EQ(message.text(), "quick");
}

}  // namespace
}  // namespace allm::set_aside_attack_test
