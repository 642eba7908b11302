// The limits of a run, and its result when a limit is reached.
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "tests/run_control_rig.hpp"

namespace allm::budget_test {
namespace {

using std::chrono::milliseconds;
using testing::can_go_on;
using testing::Form;
using testing::kAnswer;
using testing::kGood;
using testing::kHangs;
using testing::kRunTools;
using testing::reasons_of;
using testing::run_in;
using testing::Stubborn;
using testing::usual_tools;
using testing::with_usual;

using Reasons = std::vector<std::string>;

Engine engine_of(FakeScript script, std::optional<Usage> usage = std::nullopt) {
  return Engine({.adapter = fake(std::move(script), {.usage = std::move(usage)}), .tools = usual_tools()});
}
FakeCallScript bad(const std::string& id, Json arguments = Json::object()) {
  return {fake_tool_call(id, "bad", std::move(arguments)), kRunTools};
}

class Budget : public ::testing::TestWithParam<Form> {
 protected:
  ChatResult run(const Engine& engine, const CallOptions& options) const {
    ChatResult result = run_in(GetParam(), engine, {user("hi")}, options);
    EXPECT_TRUE(can_go_on(result.thread));
    return result;
  }
};
INSTANTIATE_TEST_SUITE_P(Forms, Budget, ::testing::Values(Form::folded, Form::streamed), testing::name_of);

TEST_P(Budget, TheDeadlineMayPassInTheFirstStep) {
  const auto adapter = fake({kHangs});
  const ChatResult result = run(Engine({.adapter = adapter}), {.run_timeout = milliseconds(5)});
  EXPECT_EQ(result.halted_reason(), "run_timeout");
  EXPECT_EQ(result.full_metadata(), Json({{"run_timeout", 5}}));
  EXPECT_TRUE(result.steps.empty());
  EXPECT_FALSE(result.final_response.has_value());
  EXPECT_EQ(result.thread, Thread{user("hi")});
}

TEST_P(Budget, TheDeadlineMayPassInALaterStep) {
  ChatResult result;
  do {
    result = run(engine_of({kGood, kHangs}), {.run_timeout = milliseconds(50)});
    EXPECT_EQ(result.halted_reason(), "run_timeout");
  } while (result.steps.empty());  // on a busy machine
  ASSERT_EQ(result.steps.size(), 1U);
  EXPECT_EQ(result.thread, result.steps[0].thread);
  EXPECT_EQ(result.final_response, result.steps[0].response);
}

TEST_P(Budget, TheDeadlineMayPassWhileToolsRun) {
  const FakeCallScript turn = {fake_tool_call("c0", "stubborn"), fake_tool_call("c1", "good"), kRunTools};
  const Stubborn stubborn;
  ChatResult result;
  do {
    const Engine engine({.adapter = fake({turn, kAnswer}), .tools = with_usual(stubborn.tool())});
    result = run(engine, {.run_timeout = milliseconds(50), .max_concurrency = 1});
    EXPECT_EQ(result.halted_reason(), "run_timeout");
  } while (stubborn.entered->value() == 0 || result.steps.empty());
  EXPECT_EQ(result.full_metadata(), Json({{"run_timeout", 50}}));
  ASSERT_EQ(result.steps.size(), 1U);
  EXPECT_EQ(reasons_of(result.steps[0]), (Reasons{"timeout", "not_run"}));
  stubborn.may_end->open();
}

TEST_P(Budget, AHandlersHaltTakesPrecedenceOverTheDeadline) {
  const FakeCallScript turn = {fake_tool_call("c0", "halts"), fake_tool_call("c1", "stubborn"), kRunTools};
  const Stubborn stubborn;
  ChatResult result;
  do {
    const Engine engine({.adapter = fake({turn, kAnswer}), .tools = with_usual(stubborn.tool())});
    result = run(engine, {.run_timeout = milliseconds(50)});
  } while (stubborn.entered->value() == 0);
  EXPECT_EQ(result.halted_reason(), "own");
  stubborn.may_end->open();
}

TEST(BudgetOfAStep, APassedDeadlineIsAnErrorOfASingleStep) {
  const CallOptions options{.run_timeout = milliseconds(5)};
  const auto timed_out = [](const Response& response) {
    return response.finish_reason == FinishReason::error &&
           response.error->is<AdapterError>(AdapterError::Reason::timeout);
  };
  // If the message has begun, the error is in the message, like every error of a model call.
  const auto stepped = step(engine_of({kHangs}), {user("hi")}, options);
  EXPECT_TRUE(stepped ? timed_out(stepped->response) : stepped.error().is<AdapterError>(AdapterError::Reason::timeout));
  const auto response = generate(engine_of({kHangs}), {.messages = {user("hi")}}, options);
  EXPECT_TRUE(response ? timed_out(*response) : response.error().is<AdapterError>(AdapterError::Reason::timeout));
}

TEST_P(Budget, TokensAreCountedOverAllSteps) {
  const Usage usage{.input_tokens = 7, .output_tokens = 3};
  ChatResult result = run(engine_of({kGood, kGood, kAnswer}, usage), {.max_total_tokens = 20});
  EXPECT_EQ(result.halted_reason(), "max_total_tokens");
  EXPECT_EQ(result.full_metadata(), Json({{"max_total_tokens", 20}}));
  EXPECT_EQ(result.steps.size(), 2U);
  EXPECT_EQ(reasons_of(result.steps[1]), (Reasons{"fine"})) << "the tools of the step have run";
  EXPECT_EQ(run(engine_of({kGood, kGood, kAnswer}, usage), {.max_total_tokens = 21}).halted_reason(), "completed");
  EXPECT_EQ(run(engine_of({kAnswer}, usage), {.max_total_tokens = 1}).halted_reason(), "completed")
      << "no step would follow";
  const Usage odd{.input_tokens = 7, .output_tokens = 3, .total_tokens = 100};
  EXPECT_EQ(run(engine_of({kGood, kAnswer}, odd), {.max_total_tokens = 100}).halted_reason(), "max_total_tokens");
  const Usage endless{.total_tokens = std::numeric_limits<std::int64_t>::max() - 1};
  EXPECT_EQ(
      run(engine_of({kGood, kGood, kAnswer}, endless), {.max_total_tokens = std::numeric_limits<std::int64_t>::max()})
          .steps.size(),
      2U);
}

TEST_P(Budget, CostsAreCountedOverAllSteps) {
  const Usage usage{.input_tokens = 1, .output_tokens = 1, .total_cost = 0.5};
  const ChatResult result = run(engine_of({kGood, kGood, kAnswer}, usage), {.max_cost = 1.0});
  EXPECT_EQ(result.halted_reason(), "max_cost");
  EXPECT_EQ(result.full_metadata(), Json({{"max_cost", 1.0}}));
  EXPECT_EQ(result.steps.size(), 2U);
  EXPECT_EQ(run(engine_of({kGood, kGood, kAnswer}, usage), {.max_cost = 1.25}).halted_reason(), "completed");
}

TEST_P(Budget, AnUnknownCostEndsTheRun) {
  const ChatResult result = run(engine_of({kGood, kAnswer}, Usage{.input_tokens = 1}), {.max_cost = 1.0});
  EXPECT_EQ(result.halted_reason(), "max_cost");
  EXPECT_EQ(result.full_metadata(), Json({{"max_cost", 1.0}, {"cost_unknown", true}}));
  EXPECT_EQ(result.steps.size(), 1U);
}

TEST_P(Budget, ToolsAreCountedWhenTheyRun) {
  const FakeCallScript three = {fake_tool_call("c0", "good"), fake_tool_call("c1", "good"),
                                fake_tool_call("c2", "good"), kRunTools};
  const ChatResult result = run(engine_of({kGood, three, kAnswer}), {.max_tool_calls = 3});
  EXPECT_EQ(result.halted_reason(), "max_tool_calls");
  EXPECT_EQ(result.full_metadata(), Json({{"max_tool_calls", 3}}));
  ASSERT_EQ(result.steps.size(), 2U);
  EXPECT_EQ(reasons_of(result.steps[1]), (Reasons{"fine", "fine", "not_run"}));
  EXPECT_EQ(run(engine_of({kGood, three, kAnswer}), {.max_tool_calls = 4}).halted_reason(), "completed")
      << "only a call beyond the limit ends the run";
}

TEST_P(Budget, ACallBeyondTheLimitIsNotAFailureOfTheTool) {
  const ChatResult result =
      run(engine_of({kGood, kGood, kAnswer}), {.max_tool_calls = 1, .on_tool_error = ToolErrorAction::halt});
  EXPECT_EQ(result.halted_reason(), "max_tool_calls");
}

TEST_P(Budget, ARepeatedFailureEndsTheRun) {
  const ChatResult result = run(engine_of({bad("c0"), bad("c1"), bad("c2"), kAnswer}), {.max_repeated_failures = 2});
  EXPECT_EQ(result.halted_reason(), "max_repeated_failures");
  EXPECT_EQ(result.full_metadata(), Json({{"max_repeated_failures", 2}, {"tool_name", "bad"}, {"tool_call_id", "c1"}}));
  EXPECT_EQ(result.steps.size(), 2U);
}

TEST_P(Budget, OtherArgumentsAreAnotherCall) {
  const FakeScript script = {bad("c0", {{"a", 1}}), bad("c1", {{"a", 2}}), bad("c2", {{"a", 3}}), kAnswer};
  EXPECT_EQ(run(engine_of(script), {.max_repeated_failures = 2}).halted_reason(), "completed");
  const FakeScript reordered = {bad("c0", {{"a", 1}, {"b", 2}}), bad("c1", {{"b", 2}, {"a", 1}}), kAnswer};
  EXPECT_EQ(run(engine_of(reordered), {.max_repeated_failures = 2}).halted_reason(), "max_repeated_failures");
}

TEST_P(Budget, AnotherOutcomeOfTheCallRestartsTheCount) {
  const auto engine = [](std::vector<Json> failures) {
    // Null means success.
    auto left = std::make_shared<std::vector<Json>>(std::move(failures));
    FakeScript script(left->size(), {fake_tool_call("c0", "moody"), kRunTools});
    script.push_back(kAnswer);
    const Tool moody{.name = "moody", .handler = [left](const Json&) {
                       const Json next = left->front();
                       left->erase(left->begin());
                       return next.is_null() ? ok("well") : failure(next);
                     }};
    return Engine({.adapter = fake(std::move(script)), .tools = {moody}});
  };
  const CallOptions options{.max_repeated_failures = 3};
  EXPECT_EQ(run(engine({"a", "a", nullptr, "a", "a"}), options).halted_reason(), "completed");
  EXPECT_EQ(run(engine({"a", "a", "b", "a", "a"}), options).halted_reason(), "completed");
  EXPECT_EQ(run(engine({"b", "a", "a", "a"}), options).halted_reason(), "max_repeated_failures");
}

TEST_P(Budget, TheMemoryOfFailuresIsBounded) {
  // Far more failing calls than the ledger keeps: the run continues, and new failures are still counted.
  FakeCallScript many;
  for (int i = 0; i < 3'000; ++i) many.push_back(fake_tool_call("c" + std::to_string(i), "bad", {{"i", i}}));
  many.push_back(kRunTools);
  const FakeScript script = {many, bad("x", {{"x", 1}}), bad("y", {{"x", 1}}), kAnswer};
  const ChatResult result = run(engine_of(script), {.max_repeated_failures = 2});
  EXPECT_EQ(result.halted_reason(), "max_repeated_failures");
  EXPECT_EQ(result.full_metadata()["tool_call_id"], "y");
}

TEST_P(Budget, TheStricterReasonTakesPrecedence) {
  const Usage usage{.total_tokens = 10, .total_cost = 1.0};
  const FakeCallScript turn = {fake_tool_call("c0", "bad"), fake_tool_call("c1", "good"), kRunTools};
  CallOptions options{.max_turns = 1,
                      .max_total_tokens = 1,
                      .max_cost = 0.5,
                      .max_tool_calls = 1,
                      .max_repeated_failures = 1,
                      .halt_when = [](const StepResult&) { return true; }};
  std::stop_source stop;
  options.cancel.after_step = stop.get_token();
  options.on_event = [&](const Event& event) {
    if (event.tag() == EventTag::tool_execution_started) stop.request_stop();
  };
  const auto ended = [&] { return run(engine_of({turn, kAnswer}, usage), options).halted_reason(); };
  EXPECT_EQ(ended(), "cancelled");
  options.cancel = {};
  EXPECT_EQ(ended(), "max_total_tokens");
  options.max_total_tokens.reset();
  EXPECT_EQ(ended(), "max_cost");
  options.max_cost.reset();
  EXPECT_EQ(ended(), "max_tool_calls");
  options.max_tool_calls.reset();
  EXPECT_EQ(ended(), "max_repeated_failures");
  options.max_repeated_failures.reset();
  EXPECT_EQ(ended(), "halt_when");
}

TEST_P(Budget, BothPassesOfAStructuredAnswerShareTheLimits) {
  const Usage usage{.total_tokens = 10};
  CallOptions options{
      .response_format = ResponseFormat::json_object(), .max_total_tokens = 20, .structured_finalize = true};
  const auto adapter = fake({kGood, kAnswer, kAnswer}, {.usage = usage});
  const ChatResult result = run(Engine({.adapter = adapter, .tools = usual_tools()}), options);
  EXPECT_EQ(result.halted_reason(), "max_total_tokens");
  EXPECT_EQ(result.text(), "answer");
  EXPECT_EQ(result.full_metadata()["max_total_tokens"], 20);
  EXPECT_EQ(result.metadata.at("structured_finalize").at("pass_1_halted"), "completed");
  EXPECT_EQ(adapter->calls(), 2U) << "there is no second pass";
  options.max_total_tokens = 21;
  EXPECT_EQ(run(engine_of({kGood, kAnswer, kAnswer}, usage), options).halted_reason(), "completed");
}

}  // namespace
}  // namespace allm::budget_test
