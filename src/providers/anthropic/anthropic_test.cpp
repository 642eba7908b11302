// Whole exchanges: transcripts, the requests that follow them, and malicious bodies.
#include "providers/anthropic/anthropic.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/transcript_fixture.hpp"

namespace allm::anthropic_test {
namespace {

const Codec& codec() {
  static const std::shared_ptr<const Codec> instance = anthropic_codec();
  return *instance;
}

const HttpResponseHead kStream{200, {{"Content-Type", "text/event-stream; charset=utf-8"}}};

std::string sse(std::initializer_list<const char*> chunks) {
  std::string body;
  for (const char* chunk : chunks) body += "data: " + std::string(chunk) + "\n\n";
  return body;
}

constexpr const char* kStart =
    R"({"type":"message_start","message":{"id":"m","model":"claude","usage":{"input_tokens":3,"output_tokens":1}}})";
constexpr const char* kStop = R"({"type":"message_stop"})";

std::vector<Event> stream(std::initializer_list<const char*> chunks, const AdapterCall& call = {}) {
  return decoded_in_every_way(codec(), call, kStream, sse(chunks));
}

Json written(const AdapterCall& call, const AnthropicCodecOptions& options = {}) {
  const Result<HttpRequest> request = anthropic_codec(options)->write(call);
  EXPECT_TRUE(request.has_value()) << (request ? "" : request.error().message());
  return request ? *parse_json(request->body) : Json();
}

AdapterCall call_of(MessageList messages) {
  AdapterCall call;
  call.model = "claude-haiku-4-5";
  call.request.messages = std::move(messages);
  return call;
}

class AnthropicTranscript : public ::testing::TestWithParam<const char*> {};
TEST_P(AnthropicTranscript, IsDecodedForEverySplit) { expect_transcript(codec(), {}, load_transcript(GetParam())); }
INSTANTIATE_TEST_SUITE_P(All, AnthropicTranscript,
                         ::testing::Values("anthropic-length", "anthropic-midstream-error", "anthropic-parallel-tools",
                                           "anthropic-text-cache", "anthropic-thinking-tool-use"));

class AnthropicHttpError : public ::testing::TestWithParam<const char*> {};
TEST_P(AnthropicHttpError, IsClassified) {
  const Transcript transcript = load_transcript(GetParam());
  const Error error = codec().error(transcript.head, transcript.body);
  expect_error(error, transcript.expect()["error"]);
  EXPECT_EQ(error.metadata().value("retryable", true), true);
}
INSTANTIATE_TEST_SUITE_P(All, AnthropicHttpError,
                         ::testing::Values("anthropic-400-context", "anthropic-429", "anthropic-529"));

TEST(Anthropic, IdModelAndProviderRequestIdAreCarried) {
  const Transcript transcript = load_transcript("anthropic-text-cache");
  const Response response = folded(expect_transcript(codec(), {}, transcript));
  EXPECT_EQ(response.id, "msg_01Kx");
  EXPECT_EQ(response.model, "claude-sonnet-4-6");
  EXPECT_EQ(response.metadata["provider_request_id"], "req_011Cx");
  EXPECT_EQ(response.usage.extra["ephemeral_5m_input_tokens"], 300);
  EXPECT_TRUE(response.message->metadata.empty()) << "plain text needs no blocks";
}

TEST(Anthropic, AStructuredAnswerIsReadFromItsToolCall) {
  const Transcript transcript = load_transcript("anthropic-structured-forced-tool");
  AdapterCall call = call_of({user("Ada, 36")});
  call.request.stream = true;
  call.request.max_tokens = 256;
  call.request.response_format =
      ResponseFormat::json_schema("person", transcript.json["request"]["body"]["tools"][0]["input_schema"]);
  EXPECT_TRUE(json_equal(written(call), transcript.json["request"]["body"])) << written(call);

  const Response response = folded(expect_transcript(codec(), call, transcript));
  EXPECT_EQ(response.metadata["structured_output_tool"], true);
  EXPECT_FALSE(response.message->metadata.contains("anthropic"));
  EXPECT_EQ(response.message->text(), R"({"name":"Ada","age":36})");
}

TEST(Anthropic, ThinkingIsSentBackUnchangedAfterSaveAndLoad) {
  const Transcript transcript = load_transcript("anthropic-thinking-tool-use");
  const std::vector<Event> events = expect_transcript(codec(), {}, transcript);
  EXPECT_TRUE(
      json_equal(stored_message(events).metadata["anthropic"], transcript.expect()["metadata"]["content_blocks"]));

  AdapterCall call = call_of({user("Umbrella in Nice?"), stored_message(events), tool_result("toolu_01T", "rain")});
  call.model = "claude-sonnet-4-6";
  call.request.max_tokens = 4096;
  call.request.stream = false;
  const Json& expected = transcript.json["next_request"]["body"];
  call.request.tools = {{.name = "get_weather", .description = "w", .schema = expected["tools"][0]["input_schema"]}};
  call.options = {{"thinking", {{"type", "enabled"}, {"budget_tokens", 2048}}}};
  EXPECT_TRUE(json_equal(written(call), expected)) << written(call);
}

TEST(Anthropic, AnEditedMessageIsSentFromItsCurrentContent) {
  const Transcript transcript = load_transcript("anthropic-thinking-tool-use");
  Message message = stored_message(decoded(codec(), {}, transcript.head, transcript.body));
  message.tool_calls.clear();
  message.content = "never mind";
  const Json body = written(call_of({user("hi"), message, user("ok")}));
  EXPECT_EQ(body["messages"][1], (Json{{"role", "assistant"}, {"content", "never mind"}}));
}

TEST(Anthropic, ToolResultsAndTheNextMessageAreOneTurn) {
  const Transcript transcript = load_transcript("anthropic-parallel-tools");
  Message failed = tool_result("toolu_B", "unreachable");
  failed.metadata["is_error"] = true;
  AdapterCall call = call_of({user("go"), stored_message(expect_transcript(codec(), {}, transcript)),
                              tool_result("toolu_A", "12C"), failed, user("Also keep it short.")});
  call.request.max_tokens = 512;
  call.request.stream = false;
  const Json& expected = transcript.json["next_request"]["body"];
  for (const Json& tool : expected["tools"]) {
    call.request.tools.push_back(
        {.name = tool["name"], .description = tool["description"], .schema = tool["input_schema"]});
  }
  EXPECT_TRUE(json_equal(written(call), expected)) << written(call);
}

TEST(Anthropic, ThinkingTokensAreReasoningTokens) {
  const auto usage_of = [](const std::string& counts) {
    return folded(decoded(*anthropic_codec(), {}, {200, {{"content-type", "application/json"}}},
                          R"({"content":[],"stop_reason":"end_turn","usage":)" + counts + "}"))
        .usage;
  };
  const Usage usage = usage_of(
      R"({"input_tokens":3,"output_tokens":9,"output_tokens_details":{"thinking_tokens":5,"other_tokens":1}})");
  EXPECT_EQ(usage.reasoning_tokens, 5);
  EXPECT_EQ(usage.output_tokens, 9);
  EXPECT_EQ(usage.extra, Json({{"output_tokens_details", {{"other_tokens", 1}}}}));
  EXPECT_EQ(usage_of(R"({"output_tokens":9,"thinking_tokens":4})").reasoning_tokens, 4);
}

TEST(Anthropic, SeveralTextBlocksAreOneText) {
  const std::vector<Event> events = stream(
      {kStart, R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}})",
       R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"one "}})",
       R"({"type":"content_block_stop","index":0})",
       R"({"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}})",
       R"({"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"two"}})",
       R"({"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{"url":"u"}}})",
       R"({"type":"content_block_stop","index":1})",
       R"({"type":"message_delta","delta":{"stop_reason":"stop_sequence","stop_sequence":"X"},"usage":{}})", kStop});
  const Response response = folded(events);
  EXPECT_EQ(response.output_text, "one two");
  EXPECT_EQ(response.message->text(), "one two");
  EXPECT_EQ(response.finish_reason, FinishReason::stop);
  EXPECT_EQ(response.raw_finish_reason, "stop_sequence");
  EXPECT_EQ(response.metadata["stop_sequence"], "X");
  EXPECT_EQ(response.message->metadata["anthropic"][1]["citations"], Json::array({{{"url", "u"}}}));
  const Json body = written(call_of({user("a"), stored_message(events), user("b")}));
  EXPECT_EQ(body["messages"][1]["content"].size(), 2U);
}

TEST(Anthropic, RepetitionsOfATextAreLimited) {
  const auto numbered = [](const char* before, int index, const std::string& after) {
    return before + std::to_string(index) + after;
  };
  const std::string text(1U << 20U, 'x');
  std::vector<std::string> chunks = {kStart};
  for (int i = 0; i < 1'000; i += 2) {
    const std::string added = i == 0 ? text : "y";
    chunks.push_back(numbered(R"({"type":"content_block_start","index":)", i,
                              R"(,"content_block":{"type":"text","text":")" + added + R"("}})"));
    chunks.push_back(numbered(R"({"type":"content_block_stop","index":)", i, "}"));
    chunks.push_back(numbered(
        R"({"type":"content_block_start","index":)", i + 1,
        R"(,"content_block":{"type":"tool_use","id":"t)" + std::to_string(i) + R"(","name":"n","input":{}}})"));
    chunks.push_back(numbered(R"({"type":"content_block_stop","index":)", i + 1, "}"));
  }
  std::size_t told = 0;
  std::string body;
  for (const std::string& chunk : chunks) body += "data: " + chunk + "\n\n";
  const std::vector<Event> events = decoded(codec(), {}, kStream, body, [] { return std::size_t{65'536}; });
  for (const Event& event : events) {
    if (const auto* completed = event.get_if<TextCompleted>()) told += completed->text.size();
  }
  EXPECT_LT(told, 70U << 20U);
  EXPECT_EQ(events.back().tag(), EventTag::error);
}

TEST(Anthropic, ARefusalEndsWithContentFilter) {
  const Response response =
      folded(stream({kStart,
                     R"({"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"category":"cyber"}},)"
                     R"("usage":{"output_tokens":2}})",
                     kStop}));
  EXPECT_EQ(response.finish_reason, FinishReason::content_filter);
  EXPECT_EQ(response.raw_finish_reason, "refusal");
  EXPECT_EQ(response.metadata.value("stop_details", Json()), Json({{"category", "cyber"}}));
  EXPECT_EQ(response.usage.output_tokens, 2);
}

TEST(Anthropic, RawChunksComeBeforeTheirEventsIfAskedFor) {
  const Transcript transcript = load_transcript("anthropic-text-cache");
  AdapterCall call;
  call.include_raw_chunks = true;
  const std::vector<Event> raw = decoded_in_every_way(codec(), call, transcript.head, transcript.body);
  EXPECT_EQ(raw[0].get_if<RawChunk>()->chunk["type"], "message_start");
  EXPECT_NE(raw[1].get_if<MessageStarted>(), nullptr);
  std::vector<Event> others;
  std::ranges::copy_if(raw, std::back_inserter(others),
                       [](const Event& event) { return event.tag() != EventTag::raw_chunk; });
  EXPECT_EQ(raw.size() - others.size(), 8U);
  EXPECT_TRUE(others == decoded(codec(), {}, transcript.head, transcript.body));
}

TEST(Anthropic, ABrokenEventEndsTheStream) {
  const std::vector<Event> events =
      stream({kStart, R"({"type":"content_block_delta","key":"sk-ant-abcdefghijk)", kStop});
  ASSERT_EQ(events.size(), 2U);
  const Error& error = events[1].get_if<ErrorEvent>()->error;
  EXPECT_TRUE(error.is<StreamError>(StreamError::Reason::malformed_event));
  EXPECT_EQ(error.get_if<StreamError>()->event_index, 1);
  EXPECT_EQ(error.message().find("abcdefghijk"), std::string::npos) << error.message();
}

TEST(Anthropic, BytesAfterADeltaAreAnError) {
  const std::vector<Event> events =
      stream({kStart, R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}})",
              R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}} {})"});
  EXPECT_TRUE(events.back().get_if<ErrorEvent>()->error.is<StreamError>(StreamError::Reason::malformed_event));
}

TEST(Anthropic, ABodyThatEndsEarlyIsANetworkError) {
  const std::vector<Event> events = stream({kStart});
  EXPECT_TRUE(events.back().get_if<ErrorEvent>()->error.is<AdapterError>(AdapterError::Reason::network_error));
  EXPECT_TRUE(stream({}).back().get_if<ErrorEvent>()->error.is<AdapterError>(AdapterError::Reason::network_error));
}

TEST(Anthropic, ABodyThatEndsAfterItsStopReasonIsComplete) {
  const std::vector<Event> events =
      stream({kStart, R"({"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}})"});
  EXPECT_EQ(folded(events).finish_reason, FinishReason::stop);
}

TEST(Anthropic, ADocumentWithTheContentTypeOfAStreamIsRead) {
  const std::string body = R"({"id":"m","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn"})";
  EXPECT_EQ(folded(decoded_in_every_way(codec(), {}, kStream, body)).output_text, "hi");
  const std::string error = R"({"type":"error","error":{"type":"rate_limit_error","message":"slow"}})";
  const std::vector<Event> events = decoded_in_every_way(codec(), {}, kStream, error);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_TRUE(events[0].get_if<ErrorEvent>()->error.is<AdapterError>(AdapterError::Reason::rate_limited));
}

TEST(Anthropic, WholeBodiesGiveTheEventsOfAStream) {
  const HttpResponseHead head{200, {{"content-type", "application/json"}}};
  const std::string body =
      R"({"id":"m","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"hi"},)"
      R"({"type":"tool_use","id":"c","name":"f","input":{"a":1}}],"stop_reason":"tool_use","usage":{"input_tokens":1}})";
  const std::vector<Event> events = decoded_in_every_way(codec(), {}, head, body);
  EXPECT_EQ(in_notation(events),
            *parse_json(R"([["message_started"],["reasoning_delta","t"],["text_delta","hi"],["text_completed","hi"],)"
                        R"(["tool_call_started","c","f"],["tool_call_delta","c","{\"a\":1}"],)"
                        R"(["tool_call_completed","c","f",{"a":1},"{\"a\":1}"],["message_completed","tool_calls"]])"));
  EXPECT_EQ(stored_message(events).metadata["anthropic"].size(), 3U);
}

TEST(Anthropic, EveryBodyEndsWithOneTerminalEvent) {
  const HttpResponseHead json{200, {{"content-type", "application/json"}}};
  for (const char* body : {"", "null", "[]", "{", "{}", "[1]", R"({"content":{}})",
                           R"({"content":[1,null,{"type":5}]})", R"({"error":"x"})", "\xff\xfe"}) {
    for (const HttpResponseHead* head : {&json, &kStream}) {
      const std::vector<Event> events = decoded_in_every_way(codec(), {}, *head, body);
      ASSERT_FALSE(events.empty()) << body;
    }
  }
  for (const char* chunk :
       {R"({"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"{"}})",
        R"({"type":"content_block_start","index":"x","content_block":7})", R"({"type":"message_start","message":[]})",
        R"({"type":"content_block_stop","index":99})", R"({"type":"error"})", R"({"type":3})", "[]", "7",
        R"({"type":"message_delta","delta":null,"usage":"many"})",
        R"({"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"x"}})",
        R"({"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":1}})",
        R"({"type":"content_block_delta","index":0,"index":1,"delta":{"type":"text_delta","text":"x"}})"}) {
    const std::vector<Event> events =
        stream({kStart, R"({"type":"content_block_start","index":0,"content_block":7})", chunk, chunk, kStop});
    ASSERT_FALSE(events.empty()) << chunk;
    const EventTag tag = events.back().tag();
    EXPECT_TRUE(tag == EventTag::message_completed || tag == EventTag::error) << chunk;
  }
}

}  // namespace
}  // namespace allm::anthropic_test
