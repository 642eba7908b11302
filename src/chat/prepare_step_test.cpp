// What the option prepare_step changes in a step, and what it does not change.
#include "allm/prepare_step.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/chat.hpp"
#include "allm/fake.hpp"

namespace allm::prepare_step_test {
namespace {

const FakeCallScript kAnswer = {fake_text("answer"), fake_finish(FinishReason::stop)};
FakeCallScript call_to(const std::string& tool) {
  return {fake_tool_call("c0", tool), fake_finish(FinishReason::tool_calls)};
}
std::vector<Tool> tools() {
  return {{.name = "good", .handler = [](const Json&) { return ok("fine"); }}};
}

struct Rig {
  explicit Rig(FakeScript script, std::optional<Usage> usage = std::nullopt)
      : adapter(fake(std::move(script), {.usage = std::move(usage), .record = true})),
        engine({.adapter = adapter, .model = "usual", .tools = tools()}) {}
  Result<ChatResult> run(PrepareStep hook) const {
    CallOptions options;
    options.prepare_step = std::move(hook);
    return chat(engine, {user("hi")}, options);
  }
  std::shared_ptr<FakeAdapter> adapter;
  Engine engine;
};

TEST(PrepareStep, SeesTheThreadTheStepAndTheUsageSoFar) {
  const Rig rig({call_to("good"), kAnswer}, Usage{.total_tokens = 5});
  std::vector<std::string> seen;
  const auto result = rig.run([&](const StepView& step) {
    seen.push_back(std::to_string(step.index) + ":" + std::to_string(step.thread.messages.size()) + ":" +
                   std::to_string(step.usage.total_tokens.value_or(0)) + ":" + step.engine.model()->id);
    return StepPlan{};
  });
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(seen, (std::vector<std::string>{"0:1:0:usual", "1:3:5:usual"}));
}

TEST(PrepareStep, TheModelSeesTheViewAndTheThreadKeepsItsMessages) {
  const Rig rig({call_to("good"), kAnswer});
  const auto result = rig.run([](const StepView& step) -> PlannedStep {
    if (step.index == 0) return {};
    return StepPlan{.messages = MessageList{user("in short")}};
  });
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(rig.adapter->requests()[0].request.messages, (MessageList{user("hi")}));
  EXPECT_EQ(rig.adapter->requests()[1].request.messages, (MessageList{user("in short")}));
  EXPECT_EQ(result->thread.messages.size(), 4U);
  EXPECT_EQ(result->thread.messages[2].text(), "fine");
}

TEST(PrepareStep, SettingsApplyToThisStepOnly) {
  const Rig rig({call_to("good"), call_to("good"), kAnswer});
  const auto result = rig.run([](const StepView& step) -> PlannedStep {
    if (step.index != 1) return {};
    return StepPlan{.model = "other",
                    .temperature = 0.5,
                    .max_tokens = 7,
                    .tool_choice = ToolChoice::required(),
                    .params = {{"top_p", 0.25}}};
  });
  ASSERT_TRUE(result.has_value());
  const std::vector<AdapterCall> calls = rig.adapter->requests();
  EXPECT_EQ(calls[1].model->id, "other");
  EXPECT_EQ(calls[1].request.temperature, 0.5);
  EXPECT_EQ(calls[1].request.max_tokens, 7);
  EXPECT_EQ(calls[1].request.tool_choice, ToolChoice::required());
  EXPECT_EQ(calls[1].request.options, Json({{"top_p", 0.25}}));
  for (const std::size_t other : {0U, 2U}) {
    EXPECT_EQ(calls[other].model->id, "usual");
    EXPECT_FALSE(calls[other].request.temperature.has_value());
    EXPECT_EQ(calls[other].request.options, Json::object());
  }
}

TEST(PrepareStep, TheRunnerUsesTheToolsOfTheStep) {
  const Rig rig({call_to("special"), call_to("special"), kAnswer});
  const auto result = rig.run([](const StepView& step) -> PlannedStep {
    if (step.index != 0) return {};
    return StepPlan{.tools = {{Tool{.name = "special", .handler = [](const Json&) { return ok("ran"); }}}}};
  });
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(rig.adapter->requests()[0].request.tools.at(0).name, "special");
  EXPECT_EQ(result->steps.at(0).tool_results.at(0).text(), "ran");
  // The second step has the run's tools again, so `special` is unknown there.
  EXPECT_EQ(result->halted_reason(), "error");
  EXPECT_TRUE(result->error()->is<EngineError>(EngineError::Reason::unknown_tool));
}

TEST(PrepareStep, AViewThatSeparatesACallFromItsResultIsAnError) {
  for (const bool keeps_call : {true, false}) {
    const Rig rig({call_to("good"), kAnswer});
    const auto result = rig.run([&](const StepView& step) -> PlannedStep {
      if (step.index == 0) return {};
      return StepPlan{.messages = MessageList{step.thread.messages[0], step.thread.messages[keeps_call ? 1 : 2]}};
    });
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->halted_reason(), "error");
    const auto* error = result->error()->get_if<ValidationError>();
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(error->errors.at(0).reason, keeps_call ? "unanswered_tool_call" : "orphan_tool_message");
    EXPECT_NE(result->error()->message().find("'c0'"), std::string::npos) << result->error()->message();
    EXPECT_EQ(rig.adapter->calls(), 1U);
  }
}

TEST(PrepareStep, AnErrorInTheFirstStepIsTheRunsError) {
  const Rig rig({kAnswer});
  const auto result = rig.run([](const StepView&) -> PlannedStep {
    return std::unexpected(Error(EngineError{.reason = EngineError::Reason::invalid_engine}, "not now"));
  });
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().message(), "not now");
  EXPECT_EQ(rig.adapter->calls(), 0U);
}

TEST(PrepareStep, ParamsThatAreNotAnObjectAreAnError) {
  const auto result = Rig({kAnswer}).run([](const StepView&) { return StepPlan{.params = Json::array()}; });
  ASSERT_FALSE(result.has_value());
  EXPECT_TRUE(result.error().is<ValidationError>(ValidationError::Reason::invalid_option));
}

TEST(PrepareStep, ExceptionsReachTheConsumer) {
  const Rig rig({kAnswer});
  const PrepareStep throws = [](const StepView&) -> PlannedStep { throw std::runtime_error("mine"); };
  EXPECT_THROW((void)rig.run(throws), std::runtime_error);
}

TEST(PrepareStep, AppliesToASingleStep) {
  const Rig rig({kAnswer});
  CallOptions options;
  options.prepare_step = [](const StepView&) { return StepPlan{.model = "other"}; };
  ASSERT_TRUE(step(rig.engine, {user("hi")}, options).has_value());
  EXPECT_EQ(rig.adapter->requests()[0].model->id, "other");
}

TEST(PrepareStep, IsNotCalledInACancelledRun) {
  const Rig rig({kAnswer});
  std::stop_source stop;
  stop.request_stop();
  CallOptions options;
  options.cancel.now = stop.get_token();
  bool asked = false;
  options.prepare_step = [&](const StepView&) {
    asked = true;
    return StepPlan{};
  };
  const auto result = chat(rig.engine, {user("hi")}, options);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->halted_reason(), "cancelled");
  EXPECT_FALSE(asked);
}

// A plan that is ready when the test says so, or never.
struct Later : PendingPlan {
  explicit Later(std::shared_ptr<std::optional<StepPlan>> when_ready) : ready(std::move(when_ready)) {}
  std::optional<Result<StepPlan>> poll(const Waker& waker) override {
    if (*ready) return **ready;
    waker.wake();
    return std::nullopt;
  }
  std::shared_ptr<std::optional<StepPlan>> ready;
};

TEST(PrepareStep, APendingPlanIsPolledWithoutBlocking) {
  const Rig rig({kAnswer});
  const auto ready = std::make_shared<std::optional<StepPlan>>();
  CallOptions options;
  options.prepare_step = [&](const StepView&) { return std::make_unique<Later>(ready); };
  EventStream events = stream(rig.engine, {user("hi")}, options);
  EXPECT_TRUE(events.try_next().is_pending());
  EXPECT_TRUE(events.try_next().is_pending());
  EXPECT_EQ(rig.adapter->calls(), 0U);
  *ready = StepPlan{.model = "other"};
  EXPECT_EQ(events.next()->tag(), EventTag::message_started);
  EXPECT_EQ(rig.adapter->requests()[0].model->id, "other");
}

TEST(PrepareStep, ACancellationOrTheDeadlineEndsTheWaitForAPlan) {
  const auto never = std::make_shared<std::optional<StepPlan>>();
  const Rig rig({});
  CallOptions options;
  options.prepare_step = [&](const StepView&) { return std::make_unique<Later>(never); };
  options.run_timeout = std::chrono::milliseconds(5);
  EXPECT_EQ(chat(rig.engine, {user("hi")}, options)->halted_reason(), "run_timeout");

  std::stop_source stop;
  options.run_timeout.reset();
  options.cancel.now = stop.get_token();
  EventStream events = stream(rig.engine, {user("hi")}, options);
  EXPECT_TRUE(events.try_next().is_pending());
  stop.request_stop();
  const Poll last = events.next();
  ASSERT_NE(last->get_if<ChatCompleted>(), nullptr);
  EXPECT_EQ(last->get_if<ChatCompleted>()->result->halted_reason(), "cancelled");
}

TEST(PrepareStep, TheUsageOfAPlanCountsInTheRunsUsageAndLimits) {
  const Rig rig({kAnswer}, Usage{.total_tokens = 5});
  const PrepareStep costs = [](const StepView&) { return StepPlan{.usage = {.total_tokens = 100}}; };
  EXPECT_EQ(rig.run(costs)->usage.total_tokens, 105);

  CallOptions options;
  options.prepare_step = costs;
  options.max_total_tokens = 100;
  const auto result = chat(Rig({kAnswer}).engine, {user("hi")}, options);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->halted_reason(), "max_total_tokens");
  EXPECT_TRUE(result->steps.empty());
  EXPECT_EQ(result->usage.total_tokens, 100);
}

}  // namespace
}  // namespace allm::prepare_step_test
