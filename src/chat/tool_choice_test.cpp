// A forced tool choice applies to the first step of a run.
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "allm/chat.hpp"
#include "allm/fake.hpp"

namespace allm::tool_choice_test {
namespace {

const FakeCallScript kCallTool = {fake_tool_call("c0", "tool"), fake_finish(FinishReason::tool_calls)};
const FakeCallScript kAnswer = {fake_text("done"), fake_finish(FinishReason::stop)};

using Choices = std::vector<std::optional<ToolChoice>>;

std::vector<Tool> tools() {
  const auto handler = [](const Json&) { return ok(1); };
  return {{.name = "tool", .description = "The tool. And its details.", .handler = handler, .compact = true},
          {.name = "other", .handler = handler}};
}

Choices choices_of(const FakeAdapter& adapter) {
  Choices choices;
  for (const AdapterCall& call : adapter.requests()) choices.push_back(call.request.tool_choice);
  return choices;
}

Choices choices_of_three_steps(const CallOptions& options) {
  const auto adapter = fake({kCallTool, kCallTool, kAnswer}, {.record = true});
  const auto result = chat(Engine({.adapter = adapter, .tools = tools()}), {user("hi")}, options);
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().message());
  return choices_of(*adapter);
}

TEST(ForcedToolChoice, AppliesToTheFirstStepOnly) {
  for (const ToolChoice& forced : {ToolChoice::required(), ToolChoice::tool("tool")}) {
    EXPECT_EQ(choices_of_three_steps({.tool_choice = forced}),
              (Choices{forced, ToolChoice::automatic(), ToolChoice::automatic()}));
  }
}

TEST(ForcedToolChoice, CanBeRepeated) {
  const ToolChoice forced = ToolChoice::required();
  EXPECT_EQ(choices_of_three_steps({.tool_choice = forced, .repeat_tool_choice = true}),
            (Choices{forced, forced, forced}));
}

// A plan that says nothing about the choice leaves it as it is in that step; a plan's own choice is used.
TEST(ForcedToolChoice, OfAPlanAppliesToItsStep) {
  const auto plan = [](const StepView& view) -> PlannedStep {
    StepPlan step{.temperature = 0.5};
    if (view.index == 2) step.tool_choice = ToolChoice::tool("other");
    return Result<StepPlan>(step);
  };
  EXPECT_EQ(choices_of_three_steps({.tool_choice = ToolChoice::required(), .prepare_step = plan}),
            (Choices{ToolChoice::required(), ToolChoice::automatic(), ToolChoice::tool("other")}));
}

TEST(ForcedToolChoice, OthersApplyToEveryStep) {
  const ToolChoice own = ToolChoice::from_json({{"type", "any"}});
  for (const ToolChoice& choice : {ToolChoice::automatic(), ToolChoice::none(), own}) {
    EXPECT_EQ(choices_of_three_steps({.tool_choice = choice}), (Choices{choice, choice, choice}));
  }
  EXPECT_EQ(choices_of_three_steps({}), (Choices{std::nullopt, std::nullopt, std::nullopt}));
}

TEST(ForcedToolChoice, LetsAForcedModelAnswer) {
  // Calls a tool whenever it must, as a real model does.
  const auto adapter = fake(
      [](const AdapterCall& call) { return call.request.tool_choice == ToolChoice::required() ? kCallTool : kAnswer; });
  const auto result =
      chat(Engine({.adapter = adapter, .tools = tools()}), {user("hi")}, {.tool_choice = ToolChoice::required()});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->halted_reason(), "completed");
  EXPECT_EQ(result->final_response->output_text, "done");
}

// The list of tools is a part of the prefix that providers cache.
TEST(ForcedToolChoice, LeavesTheToolsOfLaterStepsAlone) {
  const auto adapter = fake({kCallTool, kAnswer}, {.record = true});
  const Engine engine({.adapter = adapter, .tools = tools()});
  ASSERT_TRUE(chat(engine, {user("hi")}, {.tool_choice = ToolChoice::tool("tool")}).has_value());
  const std::vector<AdapterCall> calls = adapter->requests();
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].request.tools[0].description, "The tool. And its details.");
  EXPECT_EQ(calls[0].request.tools, calls[1].request.tools);
}

}  // namespace
}  // namespace allm::tool_choice_test
