#include "testing/scenario/call_options.hpp"

#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace allm::scenario::call_options_test {
namespace {

Json json(const char* text) { return Json::parse(text); }

Result<CallOptions> options(const char* own) { return make_call_options(Json::object(), json(own)); }

// The path of the option that is refused; "" if none is refused.
std::string refused(const char* own) {
  const auto result = options(own);
  if (result) return "";
  const auto* detail = result.error().get_if<ValidationError>();
  if (detail == nullptr || detail->reason != ValidationError::Reason::invalid_option) return "another error";
  return to_string(detail->errors.at(0).path);
}

ToolErrorDecision decide(const char* form, const std::string& tool = "t") {
  const auto result = make_call_options(Json::object(), Json{{"on_tool_error", json(form)}});
  EXPECT_TRUE(result);
  return std::get<ToolErrorFunction>(*result->on_tool_error)({.id = "c", .name = tool}, ToolFailure{Json("bad")});
}

StepResult step_saying(const std::string& text) { return {.response = {.output_text = text}}; }

TEST(ScenarioOptions, OwnOptionsReplaceDefaults) {
  const auto result = make_call_options(json(R"({"max_turns": 3, "mode": "manual"})"), json(R"({"max_turns": 5})"));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->max_turns, 5);
  EXPECT_EQ(result->mode, Mode::manual);
}

TEST(ScenarioOptions, AnUnknownOptionIsRefused) { EXPECT_EQ(refused(R"({"max_turn": 3})"), "max_turn"); }

TEST(ScenarioOptions, PolicyWordsAreNotFunctions) {
  EXPECT_EQ(std::get<ToolErrorAction>(*options(R"({"on_tool_error": "halt"})")->on_tool_error), ToolErrorAction::halt);
  EXPECT_EQ(refused(R"({"on_tool_error": "bogus"})"), "on_tool_error");
  EXPECT_EQ(refused(R"({"on_tool_error": 5})"), "on_tool_error");
}

TEST(ScenarioOptions, PolicyFormsDecide) {
  EXPECT_EQ(decide(R"({"continue_with": {"a": 1}})").kind(), ToolErrorDecision::Kind::continue_with);
  EXPECT_EQ(decide(R"({"continue_with": {"a": 1}})").value(), json(R"({"a": 1})"));
  EXPECT_EQ(decide(R"({"return": "halt"})").kind(), ToolErrorDecision::Kind::halt);
  EXPECT_EQ(decide(R"({"return": "maybe"})").kind(), ToolErrorDecision::Kind::none);
  EXPECT_THROW(decide(R"({"raise": "no"})"), std::runtime_error);
}

TEST(ScenarioOptions, PolicyByToolDecidesForEachTool) {
  const char* form = R"({"by_tool": {"a": {"return": "halt"}, "b": {"continue_with": 1}, "c": "halt"}})";
  EXPECT_EQ(decide(form, "a").kind(), ToolErrorDecision::Kind::halt);
  EXPECT_EQ(decide(form, "b").kind(), ToolErrorDecision::Kind::continue_with);
  EXPECT_EQ(decide(form, "c").kind(), ToolErrorDecision::Kind::halt);
  EXPECT_EQ(decide(form, "other").kind(), ToolErrorDecision::Kind::none);
}

TEST(ScenarioOptions, InvalidPolicyFormsAreRefused) {
  EXPECT_EQ(refused(R"({"on_tool_error": {"bogus": 1}})"), "on_tool_error.bogus");
  EXPECT_EQ(refused(R"({"on_tool_error": {}})"), "on_tool_error");
  EXPECT_EQ(refused(R"({"on_tool_error": {"raise": 1}})"), "on_tool_error.raise");
  EXPECT_EQ(refused(R"({"on_tool_error": {"by_tool": {"a": {"x": 1}}}})"), "on_tool_error.by_tool.a.x");
}

TEST(ScenarioOptions, HaltWhenFormsDecide) {
  EXPECT_TRUE(options(R"({"halt_when": {"always": true}})")->halt_when(step_saying("")));
  EXPECT_FALSE(options(R"({"halt_when": {"always": false}})")->halt_when(step_saying("")));
  EXPECT_TRUE(options(R"({"halt_when": {"text_contains": "END"}})")->halt_when(step_saying("the END.")));
  EXPECT_FALSE(options(R"({"halt_when": {"text_contains": "END"}})")->halt_when(step_saying("on")));
  EXPECT_THROW(options(R"({"halt_when": {"raise": "no"}})")->halt_when(step_saying("")), std::runtime_error);
  EXPECT_EQ(options(R"({"halt_when": null})")->halt_when, nullptr);
}

TEST(ScenarioOptions, HaltWhenCountsStepsFromOneForEachOperation) {
  const Json form = json(R"({"halt_when": {"step_at_least": 2}})");
  for (int operation = 0; operation < 2; ++operation) {
    const auto result = make_call_options(form, Json::object());
    EXPECT_FALSE(result->halt_when(step_saying("")));
    EXPECT_TRUE(result->halt_when(step_saying("")));
    EXPECT_TRUE(result->halt_when(step_saying("")));
  }
}

TEST(ScenarioOptions, InvalidHaltWhenFormsAreRefused) {
  EXPECT_EQ(refused(R"({"halt_when": true})"), "halt_when");
  EXPECT_EQ(refused(R"({"halt_when": {"never": true}})"), "halt_when.never");
  EXPECT_EQ(refused(R"({"halt_when": {"step_at_least": 0}})"), "halt_when.step_at_least");
}

}  // namespace
}  // namespace allm::scenario::call_options_test
