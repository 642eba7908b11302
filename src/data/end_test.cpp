// Ends in JSON: written as version 0.1 wrote them, and read back.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/serialize.hpp"

namespace allm::end_test {
namespace {

const Error kError(ToolError{.reason = ToolError::Reason::invalid_return, .tool_name = "t"}, "policy");

std::string metadata_text(const auto& result) { return result.full_metadata().dump(); }

std::string error_text() { return to_json_value(kError).dump(); }

TEST(Ends, OfStepsAreWrittenAsMetadata) {
  const std::vector<std::pair<StepEnd, std::string>> forms = {
      {ended::Completed{}, "{}"},
      {ended::AskUser{.question = "q?", .options = {{"choices", {1}}}, .tool_call_id = "c", .tool_name = "t"},
       R"({"halted_reason":"ask_user","pending_question":"q?","pending_tool_call_id":"c","ask_user_opts":{"choices":[1]}})"},
      {ended::Halted{.reason = "own", .result = {{"n", 1}}, .tool_call_id = "c"},
       R"({"halted_reason":"own","halt_tool_call_id":"c","halt_result":{"n":1}})"},
      {ended::ToolError{.tool_call_id = "c"}, R"({"halted_reason":"tool_error","halt_tool_call_id":"c"})"},
      {ended::ToolError{.tool_call_id = "c", .policy_error = kError},
       R"({"halted_reason":"tool_error","halt_tool_call_id":"c","on_tool_error_exception":)" + error_text() + "}"},
      {ended::Manual{}, R"({"mode":"manual"})"},
      {ended::Cancelled{}, R"({"halted_reason":"cancelled"})"},
  };
  for (const auto& [end, text] : forms) {
    const StepResult step{.response = {.tool_calls = {{.id = "c", .name = "t"}}}, .end = end};
    EXPECT_EQ(metadata_text(step), text);
    EXPECT_EQ(from_json<StepResult>(*to_json(step)), step) << text;
    EXPECT_EQ(from_json_value<StepResult>(to_json_value(step)), step) << text;
  }
}

TEST(Ends, OfRunsAreWrittenAsReasonAndMetadata) {
  using Which = ended::Limit::Which;
  const std::vector<std::tuple<RunEnd, std::string, std::string>> forms = {
      {ended::Completed{}, "completed", "{}"},
      {ended::AskUser{.question = "q?", .tool_call_id = "c", .tool_name = "t"}, "ask_user",
       R"({"pending_question":"q?","pending_tool_call_id":"c","ask_user_opts":{}})"},
      {ended::Halted{.reason = "own", .tool_call_id = "c"}, "own", R"({"halt_tool_call_id":"c","halt_result":null})"},
      {ended::ToolError{"c", kError}, "tool_error",
       R"({"halt_tool_call_id":"c","on_tool_error_exception":)" + error_text() + "}"},
      {ended::Manual{.turn_index = 3}, "manual_tool_calls", R"({"manual_turn_index":3})"},
      {ended::Cancelled{}, "cancelled", "{}"},
      {ended::Failed{kError}, "error", R"({"error":)" + error_text() + "}"},
      {ended::Failed{}, "error", "{}"},
      {ended::Limit{.which = Which::run_timeout, .value = std::int64_t{5}}, "run_timeout", R"({"run_timeout":5})"},
      {ended::Limit{.which = Which::max_cost, .value = 2.0, .cost_unknown = true}, "max_cost",
       R"({"max_cost":2.0,"cost_unknown":true})"},
      {ended::Limit{
           .which = Which::max_repeated_failures, .value = std::int64_t{2}, .tool_name = "t", .tool_call_id = "c"},
       "max_repeated_failures", R"({"max_repeated_failures":2,"tool_name":"t","tool_call_id":"c"})"},
      {ended::MaxTurns{8}, "max_turns", R"({"max_turns":8})"},
      {ended::HaltWhen{0}, "halt_when", R"({"halt_when_step_index":0})"},
  };
  for (const auto& [end, reason, text] : forms) {
    const ChatResult chat{.final_response = Response{.tool_calls = {{.id = "c", .name = "t"}}}, .end = end};
    EXPECT_EQ(chat.halted_reason(), reason);
    EXPECT_EQ(metadata_text(chat), text);
    EXPECT_EQ(from_json<ChatResult>(*to_json(chat)), chat) << text;
    EXPECT_EQ(from_json_value<ChatResult>(to_json_value(chat)), chat) << text;
  }
}

TEST(Ends, FactsComeBeforeTheOtherMetadata) {
  const ChatResult chat{.end = ended::MaxTurns{8}, .metadata = {{"structured_finalize", 1}}};
  EXPECT_EQ(metadata_text(chat), R"({"max_turns":8,"structured_finalize":1})");
  EXPECT_EQ(from_json<ChatResult>(*to_json(chat)), chat);
}

TEST(Ends, AStepThatBrokeOffIsFailed) {
  const StepResult step{.response = {.finish_reason = FinishReason::error, .error = kError},
                        .end = ended::Failed{kError}};
  EXPECT_EQ(metadata_text(step), "{}") << "the response has the error";
  EXPECT_EQ(from_json<StepResult>(*to_json(step)), step);
}

// What no version writes is read without an error, and what is read can be written and read again.
TEST(Ends, ContradictingMetadataAreKept) {
  const auto twice = [](const ChatResult& chat) { return *from_json<ChatResult>(*to_json(chat)); };
  const ChatResult chat = *from_json<ChatResult>(
      R"({"halted_reason":"completed","metadata":{"max_turns":1,"manual_tool_calls":[{"id":"c","name":"n"}]}})");
  EXPECT_EQ(chat.end, RunEnd(ended::Completed{}));
  EXPECT_EQ(chat.metadata.size(), 2U);
  EXPECT_EQ(twice(chat), chat);

  const ChatResult failed = *from_json<ChatResult>(R"({"halted_reason":"error","metadata":{"error":"a text"}})");
  EXPECT_EQ(failed.end, RunEnd(ended::Failed{}));
  EXPECT_EQ(failed.metadata["error"], "a text");
  EXPECT_EQ(twice(failed), failed);

  const ChatResult without_facts = *from_json<ChatResult>(R"({"halted_reason":"halt_when","metadata":null})");
  EXPECT_EQ(without_facts.end, RunEnd(ended::HaltWhen{0}));
  EXPECT_EQ(twice(without_facts), without_facts);

  const ChatResult wrong_type = *from_json<ChatResult>(R"({"halted_reason":"max_turns","metadata":{"max_turns":"x"}})");
  EXPECT_EQ(wrong_type.end, RunEnd(ended::MaxTurns{0}));
  EXPECT_EQ(twice(wrong_type), wrong_type);
}

TEST(Ends, MetadataThatAreNoObjectAreStillRefused) {
  const ChatResult chat{.end = ended::MaxTurns{8}, .metadata = Json::array()};
  EXPECT_FALSE(to_json(chat).has_value());
}

TEST(Ends, PendingCallsOfVersion01AreManual) {
  const auto session = from_json<Session>(R"({"pending_tool_calls":[{"id":"a","name":"n"},
      {"id":"b","name":"n","pending":"suspended"}]})");
  ASSERT_TRUE(session) << session.error().message();
  EXPECT_EQ(session->pending_tool_calls[0].kind, PendingKind::manual);
  EXPECT_EQ(session->pending_tool_calls[1].kind, PendingKind::suspended);
  EXPECT_EQ(from_json<Session>(*to_json(*session)), *session);
  EXPECT_FALSE(to_json_value(*session)["data"]["pending_tool_calls"][0]["data"].contains("pending"));
}

}  // namespace
}  // namespace allm::end_test
