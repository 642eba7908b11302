#include "testing/scenario/observe.hpp"

#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "allm/scenario.hpp"
#include "allm/serialize.hpp"

namespace allm::scenario::observe_test {
namespace {

Json json(const char* text) { return Json::parse(text); }

const ToolCall kCall{.id = "c0", .name = "t", .arguments = {{"x", 1}}, .raw_arguments = "{\"x\":1}"};

TEST(Observe, MessageShowsOnlyWhatItHas) {
  EXPECT_TRUE(json_equal(observe(user("hi")), json(R"({"role": "user", "content": "hi"})")));
  EXPECT_TRUE(
      json_equal(observe(tool_result("c0", "r")), json(R"({"role": "tool", "content": "r", "tool_call_id": "c0"})")));
  Message named = user("hi");
  named.name = "Ann";
  named.metadata = {{"k", 1}};
  EXPECT_TRUE(
      json_equal(observe(named), json(R"({"role": "user", "content": "hi", "name": "Ann", "metadata": {"k": 1}})")));
}

TEST(Observe, MessageShowsItsCallsInTheMetadata) {
  Message message = assistant("");
  message.tool_calls = {kCall};
  EXPECT_TRUE(
      json_equal(observe(message)["metadata"], json(R"({"tool_calls": [{"id": "c0", "name": "t", "arguments": {"x": 1},
                                                  "raw_arguments": "{\"x\":1}"}]})")));
}

TEST(Observe, PartsHaveTheFormOfScenarioFiles) {
  const Message message = user(std::vector<Part>{
      TextPart{"look"}, ImagePart{.image = {.source = ImageUrl{"https://x/y.png"}}, .detail = ImageDetail::low}});
  EXPECT_TRUE(json_equal(observe(message)["content"], json(R"([{"type": "text", "text": "look"},
                                  {"type": "image", "url": "https://x/y.png", "detail": "low"}])")));
}

TEST(Observe, CallWithoutRawArgumentsShowsNull) {
  EXPECT_EQ(observe(ToolCall{.id = "c", .name = "t"})["raw_arguments"], nullptr);
}

TEST(Observe, UsageShowsEveryCounter) {
  const Json usage = observe(Usage{.input_tokens = 3, .output_tokens = 0});
  EXPECT_EQ(usage["input_tokens"], 3);
  EXPECT_EQ(usage["output_tokens"], 0);
  for (const char* key : {"cached_input_tokens", "cache_write_input_tokens", "reasoning_tokens", "total_tokens",
                          "input_cost", "output_cost", "total_cost"}) {
    ASSERT_TRUE(usage.contains(key)) << key;
    EXPECT_EQ(usage[key], nullptr) << key;
  }
}

TEST(Observe, ErrorShowsKindReasonAndMetadata) {
  const Error error(EngineError{EngineError::Reason::unknown_tool}, "no such tool", {{"tool_name", "x"}});
  EXPECT_TRUE(json_equal(observe(error), json(R"({"type": "EngineError", "reason": "unknown_tool",
                                                  "message": "no such tool", "metadata": {"tool_name": "x"}})")));
  EXPECT_FALSE(observe(Error(SessionError{})).contains("metadata"));
  EXPECT_FALSE(observe(Error(SessionError{})).contains("errors"));
}

TEST(Observe, ValidationErrorShowsPathsAsArrays) {
  const Error error = validation_error(ValidationError::Reason::invalid_thread, {"messages", 1, "role"}, "unknown");
  EXPECT_TRUE(json_equal(observe(error)["errors"], json(R"([[["messages", 1, "role"], "unknown"]])")));
}

TEST(Observe, OutcomesShowTheirKind) {
  EXPECT_TRUE(json_equal(observe(ok(Json::array({1}))), json(R"({"ok": [1]})")));
  EXPECT_TRUE(json_equal(observe(failure({{"code", 7}})), json(R"({"error": {"code": 7}})")));
  EXPECT_EQ(observe(ToolOutcome(ToolFailure{Error(ToolError{ToolError::Reason::timeout})}))["error"]["reason"],
            "timeout");
  EXPECT_TRUE(
      json_equal(observe(ask_user("q", {{"o", 1}})), json(R"({"ask_user": {"question": "q", "options": {"o": 1}}})")));
  EXPECT_TRUE(json_equal(observe(halt("done", 2)), json(R"({"halt": {"reason": "done", "result": 2}})")));
}

TEST(Observe, ResponseLeavesOutOnlyAMissingError) {
  Response response;
  EXPECT_EQ(observe(response)["output_text"], nullptr);
  EXPECT_EQ(observe(response)["finish_reason"], nullptr);
  EXPECT_FALSE(observe(response).contains("error"));
  response.error = Error(AdapterError{AdapterError::Reason::timeout});
  EXPECT_EQ(observe(response)["error"]["reason"], "timeout");
}

TEST(Observe, StepShowsPendingCallsInTheMetadata) {
  StepResult step{.thread = {user("hi")}};
  EXPECT_EQ(observe(step)["metadata"], Json::object());
  EXPECT_EQ(observe(step)["messages"].size(), 1U);
  step.end = ended::Manual{{{kCall, PendingKind::manual}}};
  EXPECT_EQ(observe(step)["metadata"]["manual_tool_calls"][0]["id"], "c0");
}

TEST(Observe, ChatShowsErrorsInItsMetadataAsObservations) {
  const Error error(AdapterError{AdapterError::Reason::rate_limited});
  ChatResult chat{.end = ended::Failed{error}, .steps = {StepResult{}}};
  chat.metadata = {{"structured_finalize", {{"pass_1_halted", "completed"}, {"pass_2_error", to_json_value(error)}}}};
  const Json observed = observe(chat);
  EXPECT_EQ(observed["metadata"]["error"]["reason"], "rate_limited");
  EXPECT_EQ(observed["metadata"]["structured_finalize"]["pass_2_error"]["type"], "AdapterError");
  EXPECT_EQ(observed["metadata"]["structured_finalize"]["pass_1_halted"], "completed");
  EXPECT_FALSE(observed["steps"][0].contains("messages"));
  EXPECT_EQ(observed["output_text"], nullptr);
  EXPECT_EQ(observed["pending_question"], nullptr);
}

TEST(Observe, ValuesThatOnlyLookTaggedAreNotChanged) {
  const Json value = json(R"({"a": [{"__type__": "ALLM.Error.AdapterError"}, {"__type__": "Other", "data": {}}]})");
  EXPECT_EQ(observe_value(value), value);
}

TEST(Observe, SessionShowsTheResultBesideIt) {
  const Json observed = observe(Session{.status = SessionStatus::awaiting_user, .pending_question = "q"}, 5);
  EXPECT_TRUE(json_equal(observed, json(R"({"status": "awaiting_user", "pending_question": "q",
      "pending_tool_call_id": null, "pending_tool_calls": [], "messages": [], "result": 5})")));
}

TEST(Observe, EventsHaveTheirTagAndPayload) {
  EXPECT_TRUE(json_equal(observe(Event(TextDelta{std::nullopt, "d"})),
                         json(R"({"tag": "text_delta", "id": null, "delta": "d"})")));
  EXPECT_TRUE(json_equal(observe(Event(RawChunk{{{"k", 1}}})), json(R"({"tag": "raw_chunk", "chunk": {"k": 1}})")));
  EXPECT_EQ(observe(Event(ErrorEvent{Error(StreamError{})}))["error"]["type"], "StreamError");
  EXPECT_TRUE(json_equal(observe(Event(ToolCallCompleted{kCall})),
                         json(R"({"tag": "tool_call_completed", "id": "c0", "name": "t", "arguments": {"x": 1},
                                  "raw_arguments": "{\"x\":1}"})")));
  EXPECT_TRUE(json_equal(observe(Event(ToolExecutionCompleted{"c0", "t", ok(1)})),
                         json(R"({"tag": "tool_execution_completed", "id": "c0", "name": "t", "result": {"ok": 1}})")));
}

TEST(Observe, MessageCompletedShowsUsageInTheMetadata) {
  MessageCompleted completed{.message = assistant("t"), .finish_reason = FinishReason::stop};
  EXPECT_FALSE(observe(Event(completed)).contains("metadata"));
  completed.usage = Usage{.input_tokens = 4};
  EXPECT_EQ(observe(Event(completed))["metadata"]["usage"]["input_tokens"], 4);
  EXPECT_EQ(observe(Event(completed))["finish_reason"], "stop");
}

TEST(Observe, CompletionEventsShowTheirResults) {
  const auto step = std::make_shared<const StepResult>(StepResult{.thread = {user("hi")}});
  const Json completed = observe(Event(StepCompleted{step, Mode::manual}));
  EXPECT_EQ(completed["mode"], "manual");
  EXPECT_EQ(completed["thread"][0]["content"], "hi");
  EXPECT_EQ(completed["manual_tool_calls"], Json::array());
  const auto chat = std::make_shared<const ChatResult>();
  EXPECT_EQ(observe(Event(ChatCompleted{chat}))["result"]["halted_reason"], "completed");
}

}  // namespace
}  // namespace allm::scenario::observe_test
