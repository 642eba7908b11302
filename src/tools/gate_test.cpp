// The approval gate and cancellation in the tool runner.
#include <atomic>
#include <memory>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/collector.hpp"
#include "allm/tool_runner.hpp"

#include "runtime/test_waits.hpp"

namespace allm::gate_test {
namespace {

using Calls = std::span<const ToolCall>;
using Reasons = std::vector<std::string>;

std::vector<ToolCall> three_calls() {
  std::vector<ToolCall> calls;
  for (int i = 0; i < 3; ++i) calls.push_back({.id = "c" + std::to_string(i), .name = "tool", .arguments = {{"i", i}}});
  return calls;
}

struct Bench {
  std::shared_ptr<std::atomic<int>> runs = std::make_shared<std::atomic<int>>(0);
  Tool tool() const {
    return {.name = "tool", .handler = [runs = runs](const Json& arguments) {
              ++*runs;
              return ok(arguments);
            }};
  }
};

Reasons answers(const Result<ToolBatch>& batch) {
  Reasons reasons;
  if (!batch) return {std::string(batch.error().reason())};
  for (const Message& message : batch->messages) {
    const Json content = Json::parse(message.text());
    reasons.push_back(content.contains("reason") ? content["reason"].get<std::string>() : content.dump());
  }
  return reasons;
}

// Runs the calls as a function and as a stream, which must give the same result.
Result<ToolBatch> run_both(const Bench& bench, const CallOptions& options) {
  StreamCollector collector;
  for (const Event& event : stream_tool_calls(three_calls(), {bench.tool()}, options)) collector.apply(event);
  const Result<ToolBatch> streamed = collector.tool_batch();
  Result<ToolBatch> folded = run_tool_calls(three_calls(), {bench.tool()}, options);
  EXPECT_EQ(folded, streamed);
  return folded;
}

TEST(GateOfTheRunner, DecidesOnEachCall) {
  const Bench bench;
  CallOptions options;
  options.approve = [](Calls) {
    return std::vector{Approval::allow_with({{"other", true}}), Approval::deny("no"), Approval::suspend()};
  };
  const Result<ToolBatch> batch = run_both(bench, options);
  EXPECT_EQ(answers(batch), (Reasons{R"({"other":true})", "denied", "not_run"}));
  EXPECT_EQ(batch->messages[0].metadata, Json({{"rewritten_arguments", {{"other", true}}}}));
  EXPECT_NE(batch->messages[2].text().find("it waits for approval"), std::string::npos);
  EXPECT_FALSE(batch->halt.has_value());
  EXPECT_EQ(*bench.runs, 2) << "one in each form";
}

TEST(GateOfTheRunner, FailsClosed) {
  const Bench bench;
  CallOptions options{.on_tool_error = ToolErrorAction::halt};
  options.approve = [](Calls) -> std::vector<Approval> { throw std::runtime_error("no ink"); };
  EXPECT_EQ(answers(run_both(bench, options)), (Reasons{"denied", "denied", "denied"}));
  options.approve = [](Calls) { return std::vector<Approval>(); };
  EXPECT_EQ(answers(run_both(bench, options)), (Reasons{"denied", "denied", "denied"}));
  options.approve = [](Calls calls) { return std::vector<Approval>(calls.size()); };
  EXPECT_EQ(answers(run_both(bench, options)), (Reasons{"denied", "denied", "denied"}));
  EXPECT_EQ(*bench.runs, 0);
}

TEST(GateOfTheRunner, IsCalledWhenTheStreamIsFirstRead) {
  const Bench bench;
  int asked = 0;
  CallOptions options;
  options.approve = [&](Calls calls) {
    ++asked;
    return std::vector(calls.size(), Approval::allow());
  };
  EventStream events = stream_tool_calls(three_calls(), {bench.tool()}, options);
  EXPECT_EQ(asked, 0);
  while (events.next()) {
  }
  EXPECT_EQ(asked, 1);
}

TEST(GateOfTheRunner, MayCancelTheRunItself) {
  const Bench bench;
  std::stop_source stop;
  CallOptions options;
  options.cancel.after_tools = stop.get_token();
  options.approve = [&](Calls calls) {
    stop.request_stop();
    return std::vector(calls.size(), Approval::allow());
  };
  EXPECT_EQ(answers(run_tool_calls(three_calls(), {bench.tool()}, options)),
            (Reasons{"not_run", "not_run", "not_run"}));
  EXPECT_EQ(*bench.runs, 0);
}

TEST(CancelledRunner, AnswersEveryCall) {
  testing::Gate may_end;
  testing::Counter entered;
  const Tool stays{.name = "tool", .handler = [&](const Json&) {
                     entered.add();
                     may_end.wait();
                     return ok("late");
                   }};
  std::stop_source stop;
  CallOptions options{.max_concurrency = 2, .on_tool_error = ToolErrorAction::halt};
  options.cancel.now = stop.get_token();
  const auto runtime = Runtime::create();
  {
    const std::jthread canceller([&] {
      entered.wait_for(2);
      stop.request_stop();
    });
    const auto batch = run_tool_calls(three_calls(), {stays}, options, Engine({.runtime = runtime}));
    EXPECT_EQ(answers(batch), (Reasons{"cancelled", "cancelled", "not_run"}));
    EXPECT_FALSE(batch->halt.has_value());
  }
  may_end.open();
  testing::eventually([&] { return runtime->stats().running == 0; }, "the handlers' end");
}

TEST(CancelledRunner, BeforeTheStartRunsNothing) {
  const Bench bench;
  std::stop_source stop;
  stop.request_stop();
  int asked = 0;
  CallOptions options;
  options.cancel.now = stop.get_token();
  options.approve = [&](Calls calls) {
    ++asked;
    return std::vector(calls.size(), Approval::allow());
  };
  EXPECT_EQ(answers(run_both(bench, options)), (Reasons{"not_run", "not_run", "not_run"}));
  EXPECT_EQ(*bench.runs, 0);
  EXPECT_EQ(asked, 0);
}

TEST(LimitedRunner, RunsNoMoreCallsThanItMay) {
  const Bench bench;
  EXPECT_EQ(answers(run_both(bench, {.max_tool_calls = 2})), (Reasons{R"({"i":0})", R"({"i":1})", "not_run"}));
  EXPECT_EQ(*bench.runs, 4);
}

}  // namespace
}  // namespace allm::gate_test
