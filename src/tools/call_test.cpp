// Deadlines, late answers, and handlers that run after their deadline.
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/telemetry.hpp"
#include "allm/tool_runner.hpp"

#include "runtime/test_waits.hpp"

namespace allm::call_test {
namespace {

using std::chrono::milliseconds;
using testing::Counter;
using testing::eventually;
using testing::Gate;

ToolCall call(std::string id, std::string name) { return {.id = std::move(id), .name = std::move(name)}; }
std::vector<ToolCall> calls(const std::string& name, std::size_t count) {
  std::vector<ToolCall> list;
  for (std::size_t i = 0; i < count; ++i) list.push_back(call("c" + std::to_string(i), name));
  return list;
}
std::string reason_of(const Message& message) { return Json::parse(message.text()).value("reason", "none"); }

std::size_t count_of(const CollectingTelemetry& telemetry, const std::string& name) {
  std::size_t count = 0;
  for (const auto& record : telemetry.records()) count += record.name == name ? 1 : 0;
  return count;
}

// An engine with its own runtime and a telemetry sink.
struct Bench {
  explicit Bench(RuntimeOptions options = {})
      : runtime(Runtime::create(options)),
        telemetry(std::make_shared<CollectingTelemetry>()),
        engine({.telemetry = telemetry, .runtime = runtime}) {}
  Result<ToolBatch> run(std::vector<ToolCall> list, const Tool& tool, const CallOptions& options = {}) const {
    return run_tool_calls(std::move(list), {tool}, options, engine);
  }
  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<CollectingTelemetry> telemetry;
  Engine engine;
};

// A handler that blocks until it is released and ignores its stop token. On a busy machine a call may be settled before
// it gets a thread, so tests that need a running handler check `entered`.
struct Stubborn {
  std::shared_ptr<Gate> may_end = std::make_shared<Gate>();
  std::shared_ptr<Counter> entered = std::make_shared<Counter>();
  Tool tool(std::optional<milliseconds> timeout = std::nullopt) const {
    return {.name = "stubborn",
            .handler =
                [gate = may_end, in = entered](const Json&) {
                  in->add();
                  gate->wait();
                  return ok("late");
                },
            .timeout = timeout};
  }
};

TEST(ToolDeadline, SettlesTheCallWhileTheHandlerStillRuns) {
  const Bench bench;
  const Stubborn stubborn;
  do {
    const auto batch = bench.run({call("c0", "stubborn")}, stubborn.tool(), {.tool_timeout = milliseconds(5)});
    ASSERT_TRUE(batch.has_value());
    EXPECT_EQ(reason_of(batch->messages[0]), "timeout");
  } while (stubborn.entered->value() == 0);
  EXPECT_GE(bench.runtime->stats().running, 1U);
  stubborn.may_end->open();
  eventually([&] { return bench.runtime->stats().running == 0; }, "the handler's end");
  EXPECT_EQ(bench.runtime->stats().set_aside, 0U);
}

TEST(ToolDeadline, CountsOverdueHandlersUntilTheyReturn) {
  const Bench bench;
  const Stubborn stubborn;
  const auto batch =
      bench.run(calls("stubborn", 5), stubborn.tool(), {.tool_timeout = milliseconds(100), .max_concurrency = 5});
  ASSERT_TRUE(batch.has_value());
  for (const Message& message : batch->messages) EXPECT_EQ(reason_of(message), "timeout");
  const auto settled = [&] {
    const RuntimeStats stats = bench.runtime->stats();
    return stats.queued == 0 && stats.running == stubborn.entered->value() && stats.set_aside == stats.running;
  };
  eventually(settled, "every handler that runs to be counted");
  const std::size_t inside = stubborn.entered->value();
  stubborn.may_end->open();
  eventually([&] { return bench.runtime->stats().set_aside == 0; }, "the handlers' return");
  EXPECT_GE(bench.runtime->stats().late, inside);
  EXPECT_EQ(count_of(*bench.telemetry, "allm.tool.late"), inside);
  EXPECT_EQ(count_of(*bench.telemetry, "allm.tool.start"), 5U);
  EXPECT_EQ(count_of(*bench.telemetry, "allm.tool.exception"), 5U);
  EXPECT_EQ(count_of(*bench.telemetry, "allm.tool.stop"), 0U) << "a span ends once";
}

TEST(ToolDeadline, AsksTheHandlerToStop) {
  const Bench bench;
  auto entered = std::make_shared<Counter>();
  auto stopped = std::make_shared<Counter>();
  const Tool polite{.name = "polite", .handler = [entered, stopped](const Json&, const ToolContext& context) {
                      Gate asked;
                      const std::stop_callback callback(context.stop_token(), [&] { asked.open(); });
                      entered->add();
                      asked.wait();
                      stopped->add();
                      return ok("stopped");
                    }};
  do {
    const auto batch = bench.run({call("c0", "polite")}, polite, {.tool_timeout = milliseconds(5)});
    ASSERT_TRUE(batch.has_value());
    EXPECT_EQ(reason_of(batch->messages[0]), "timeout");
  } while (entered->value() == 0);
  stopped->wait_for(1);
}

TEST(ToolDeadline, OfAToolTakesPrecedenceOverThatOfTheRun) {
  const Bench bench;
  const Stubborn stubborn;
  const auto batch =
      bench.run({call("c0", "stubborn")}, stubborn.tool(milliseconds(5)), {.tool_timeout = std::chrono::hours(1)});
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(reason_of(batch->messages[0]), "timeout");
  EXPECT_NE(batch->messages[0].text().find("5 ms"), std::string::npos);
  stubborn.may_end->open();
}

TEST(ToolDeadline, MayBeTheLongestDuration) {
  const Bench bench;
  const Tool quick{.name = "t", .handler = [](const Json&, const ToolContext& context) {
                     return ok(context.deadline() == std::chrono::steady_clock::time_point::max());
                   }};
  const auto batch = bench.run({call("c0", "t")}, quick, {.tool_timeout = milliseconds::max()});
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->messages[0].text(), "true");
}

TEST(ToolDeadline, CoversTheWaitForAThread) {
  // The only thread is blocked by a handler: the second call never runs.
  const Bench bench({.max_threads = 1});
  const Stubborn stubborn;
  std::atomic<bool> ran = false;
  EventStream blocking = stream_tool_calls({call("c0", "stubborn")}, {stubborn.tool()}, {}, bench.engine);
  blocking.next();
  stubborn.entered->wait_for(1);
  const Tool second{.name = "second", .handler = [&](const Json&) {
                      ran = true;
                      return ok(1);
                    }};
  const auto batch = bench.run({call("c1", "second")}, second, {.tool_timeout = milliseconds(5)});
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(reason_of(batch->messages[0]), "timeout");
  EXPECT_EQ(bench.runtime->stats().set_aside, 0U) << "a call that never ran has no overdue handler";
  stubborn.may_end->open();
  while (blocking.next()) {
  }
  eventually([&] { return bench.runtime->stats().running == 0 && bench.runtime->stats().queued == 0; }, "rest");
  EXPECT_FALSE(ran);
}

TEST(ToolDeadline, CallsFailAtOnceIfTooManyThreadsAreSetAside) {
  const Bench bench({.max_set_aside = 2});
  const Stubborn stubborn;
  const auto batch =
      bench.run(calls("stubborn", 4), stubborn.tool(), {.tool_timeout = milliseconds(50), .max_concurrency = 1});
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(reason_of(batch->messages[0]), "timeout");
  EXPECT_EQ(reason_of(batch->messages[1]), "timeout");
  while (bench.runtime->stats().set_aside < 2) {
    (void)bench.run({call("again", "stubborn")}, stubborn.tool(), {.tool_timeout = milliseconds(50)});
  }
  const auto refused = bench.run({call("c9", "stubborn")}, stubborn.tool());
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(reason_of(refused->messages[0]), "overloaded");
  stubborn.may_end->open();
  eventually([&] { return bench.runtime->stats().set_aside == 0; }, "the handlers' return");
  const auto again = bench.run({call("c10", "stubborn")}, stubborn.tool());
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->messages[0].text(), "late") << "there is room again";
}

TEST(LateHandlers, AnswerFromAnyThread) {
  const Bench bench;
  std::vector<std::jthread> threads;
  std::mutex mutex;
  const Tool later{.name = "later", .handler = [&](const Json&, const ToolContext& context, ToolCompletion done) {
                     const std::lock_guard lock(mutex);
                     threads.emplace_back([done = std::move(done), id = context.tool_call().id] { done(ok(id)); });
                   }};
  const auto batch = bench.run(calls("later", 5), later, {.max_concurrency = 5});
  ASSERT_TRUE(batch.has_value());
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(batch->messages[i].text(), "c" + std::to_string(i));
  eventually([&] { return bench.runtime->stats().running == 0; }, "the handlers' end");
}

TEST(LateHandlers, ThatWaitOccupyNoThreads) {
  const Bench bench({.max_threads = 2});
  constexpr std::size_t kCalls = 1000;
  std::mutex mutex;
  std::vector<ToolCompletion> waiting;
  Counter dispatched;
  const Tool later{.name = "later", .handler = [&](const Json&, ToolCompletion done) {
                     {
                       const std::lock_guard lock(mutex);
                       waiting.push_back(std::move(done));
                     }
                     dispatched.add();
                   }};
  std::jthread answerer([&] {
    dispatched.wait_for(kCalls);
    const std::lock_guard lock(mutex);
    for (const ToolCompletion& done : waiting) EXPECT_TRUE(done(ok(1)));
  });
  const auto batch = bench.run(calls("later", kCalls), later, {.max_concurrency = kCalls});
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->messages.size(), kCalls);
  eventually([&] { return bench.runtime->stats().running == 0; }, "the handlers' end");
  EXPECT_LE(bench.runtime->stats().threads, 2U);
}

TEST(LateHandlers, ThatDropTheirCompletionFailWithNoAnswer) {
  const Bench bench;
  const auto batch = bench.run({call("c0", "t")}, {.name = "t", .handler = [](const Json&, ToolCompletion) {}});
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(reason_of(batch->messages[0]), "invalid_return");
}

TEST(LateHandlers, OnlyTheFirstAnswerIsUsed) {
  const Bench bench;
  bool first = false;
  bool second = true;
  const auto batch = bench.run({call("c0", "t")}, {.name = "t", .handler = [&](const Json&, ToolCompletion done) {
                                                     const ToolCompletion copy = done;
                                                     first = done(ok("one"));
                                                     second = copy(ok("two"));
                                                   }});
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->messages[0].text(), "one");
  eventually([&] { return bench.runtime->stats().running == 0; }, "the handler's end");
  EXPECT_TRUE(first);
  EXPECT_FALSE(second);
}

TEST(LateHandlers, LearnThatTheirAnswerCameTooLate) {
  const Bench bench;
  std::optional<ToolCompletion> kept;
  const Tool later{.name = "later", .handler = [&](const Json&, ToolCompletion done) { kept = std::move(done); }};
  const auto batch = bench.run({call("c0", "later")}, later, {.tool_timeout = milliseconds(5)});
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(reason_of(batch->messages[0]), "timeout");
  eventually([&] { return bench.runtime->stats().running == 0; }, "the handler's end");
  if (!kept) GTEST_SKIP() << "the call timed out before it had a thread";
  EXPECT_EQ(bench.runtime->stats().set_aside, 0U) << "its thread is long free";
  EXPECT_FALSE((*kept)(ok("late")));
  EXPECT_EQ(count_of(*bench.telemetry, "allm.tool.late"), 1U);
  kept.reset();
}

TEST(LateHandlers, ThatNeverAnswerAreNotReportedAsLate) {
  const Bench bench;
  std::optional<ToolCompletion> kept;
  const Tool later{.name = "later", .handler = [&](const Json&, ToolCompletion done) { kept = std::move(done); }};
  ASSERT_TRUE(bench.run({call("c0", "later")}, later, {.tool_timeout = milliseconds(5)}).has_value());
  eventually([&] { return bench.runtime->stats().running == 0; }, "the handler's end");
  kept.reset();
  EXPECT_EQ(count_of(*bench.telemetry, "allm.tool.late"), 0U);
}

TEST(LateHandlers, ThatThrowAfterTheirAnswerChangeNothing) {
  const Bench bench;
  const auto batch = bench.run({call("c0", "t")}, {.name = "t", .handler = [](const Json&, ToolCompletion done) {
                                                     done(ok("said"));
                                                     throw 1;
                                                   }});
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->messages[0].text(), "said");
}

TEST(DroppedBatch, AsksItsHandlersToStopAndWaitsForNone) {
  const Bench bench;
  Counter entered;
  Counter stopped;
  const Tool polite{.name = "polite", .handler = [&](const Json&, const ToolContext& context) {
                      Gate asked;
                      const std::stop_callback callback(context.stop_token(), [&] { asked.open(); });
                      entered.add();
                      asked.wait();
                      stopped.add();
                      return ok(1);
                    }};
  EventStream events = stream_tool_calls(calls("polite", 3), {polite}, {.max_concurrency = 2}, bench.engine);
  events.next();
  entered.wait_for(2);
  events.drop();
  stopped.wait_for(2);
  eventually([&] { return bench.runtime->stats().running == 0; }, "the handlers' end");
  EXPECT_EQ(entered.value(), 2U) << "the third was never started";
  EXPECT_EQ(bench.runtime->stats().set_aside, 0U);
  EXPECT_EQ(count_of(*bench.telemetry, "allm.tool.exception"), 2U);
}

TEST(DroppedBatch, KeepsTheArgumentsOfARunningHandlerAlive) {
  const Stubborn stubborn;
  Gate saw_everything;
  {
    Bench bench;
    const Tool tool{.name = "t",
                    .handler = [&saw_everything, gate = stubborn.may_end, in = stubborn.entered](
                                   const Json& arguments, const ToolContext& context) {
                      in->add();
                      gate->wait();
                      // The program has dropped batch, engine and runtime by now.
                      EXPECT_EQ(arguments.at("a"), 1);
                      EXPECT_EQ(context.tool_call().id, "c0");
                      EXPECT_EQ(context.context().at("b"), 2);
                      EXPECT_EQ(context.engine().metadata().at("c"), 3);
                      context.report_progress("nobody hears");
                      saw_everything.open();
                      return ok(1);
                    }};
    Engine engine({.runtime = bench.runtime, .metadata = {{"c", 3}}});
    EventStream events = stream_tool_calls({ToolCall{.id = "c0", .name = "t", .arguments = {{"a", 1}}}}, {tool},
                                           {.context = Json({{"b", 2}})}, std::move(engine));
    events.next();
    stubborn.entered->wait_for(1);
  }
  stubborn.may_end->open();
  saw_everything.wait();
}

}  // namespace
}  // namespace allm::call_test
