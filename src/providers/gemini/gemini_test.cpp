// Whole exchanges: transcripts, the requests that follow them, and malicious bodies.
#include "providers/gemini/gemini.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/transcript_fixture.hpp"

namespace allm::gemini_test {
namespace {

const Codec& codec() {
  static const std::shared_ptr<const Codec> instance = gemini_codec();
  return *instance;
}

const HttpResponseHead kStream{200, {{"content-type", "text/event-stream"}}};
const HttpResponseHead kWhole{200, {{"content-type", "application/json; charset=UTF-8"}}};

std::string sse(std::initializer_list<const char*> chunks) {
  std::string body;
  for (const char* chunk : chunks) body += "data: " + std::string(chunk) + "\r\n\r\n";
  return body;
}

std::vector<Event> stream(std::initializer_list<const char*> chunks, const AdapterCall& call = {}) {
  return decoded_in_every_way(codec(), call, kStream, sse(chunks));
}

AdapterCall call_of(MessageList messages) {
  AdapterCall call;
  call.model = "gemini-3-flash-preview";
  call.request.messages = std::move(messages);
  return call;
}

Json written(const AdapterCall& call) {
  const Result<HttpRequest> request = codec().write(call);
  EXPECT_TRUE(request.has_value()) << (request ? "" : request.error().message());
  return request ? *parse_json(request->body) : Json();
}

const Error& last_error(const std::vector<Event>& events) { return events.back().get_if<ErrorEvent>()->error; }

class GeminiTranscript : public ::testing::TestWithParam<const char*> {};
TEST_P(GeminiTranscript, IsDecodedForEverySplit) { expect_transcript(codec(), {}, load_transcript(GetParam())); }
INSTANTIATE_TEST_SUITE_P(All, GeminiTranscript,
                         ::testing::Values("gemini-max-tokens-empty", "gemini-midstream-sse-error",
                                           "gemini-prompt-blocked-stream", "gemini-prompt-blocked",
                                           "gemini-safety-finish", "gemini-text",
                                           "gemini-thought-signature-roundtrip"));

TEST(Gemini, AWrongKeyIsAuthenticationFailed) {
  const Transcript transcript = load_transcript("gemini-400-bad-key");
  expect_error(codec().error(transcript.head, transcript.body), transcript.expect()["error"]);
}

TEST(Gemini, ABlockedPromptSaysWhy) {
  const Transcript transcript = load_transcript("gemini-prompt-blocked");
  const Response response = folded(decoded(codec(), {}, transcript.head, transcript.body));
  EXPECT_EQ(response.metadata["error"]["reason"], "blocked:PROHIBITED_CONTENT");
}

TEST(Gemini, TheRequestOfATranscriptIsWritten) {
  AdapterCall call = call_of({system("Be brief."), user("Largest ocean?")});
  call.request.stream = true;
  call.request.max_tokens = 64;
  call.request.temperature = 1.0;
  call.options = {{"stop", "END"}};
  const Transcript transcript = load_transcript("gemini-text");
  const Result<HttpRequest> request = codec().write(call);
  EXPECT_EQ(Json(request->url), transcript.json["request"]["url"]);
  EXPECT_TRUE(json_equal(*parse_json(request->body), transcript.json["request"]["body"])) << request->body;
}

TEST(Gemini, SignaturesAndIdsAreSentBackAfterSaveAndLoad) {
  const Transcript transcript = load_transcript("gemini-thought-signature-roundtrip");
  const Message answer = stored_message(expect_transcript(codec(), {}, transcript));
  const Json& expected = transcript.json["next_request"]["body"];
  for (const bool reversed : {false, true}) {
    MessageList messages = {user("Weather and time in Kyoto?"), answer};
    if (reversed) messages.push_back(tool_result("fc-7d2", "18:05"));
    messages.push_back(tool_result("fc-7d1", "19C"));
    if (!reversed) messages.push_back(tool_result("fc-7d2", "18:05"));
    AdapterCall call = call_of(messages);
    for (const Json& tool : expected["tools"][0]["functionDeclarations"]) {
      call.request.tools.push_back(
          {.name = tool["name"], .description = tool["description"], .schema = tool["parameters"]});
    }
    EXPECT_TRUE(json_equal(written(call), expected)) << written(call);
  }
}

TEST(Gemini, EqualCallsWithoutIdsAreTwoCallsAndTheirIdsAreNotSent) {
  const std::vector<Event> events = stream(
      {R"({"candidates":[{"content":{"parts":[{"functionCall":{"name":"roll","args":{"sides":6}}},)"
       R"({"functionCall":{"name":"roll","args":{"sides":6}}}],"role":"model"},"index":0,"finishReason":"STOP"}]})"});
  const Message answer = stored_message(events);
  ASSERT_EQ(answer.tool_calls.size(), 2U);
  EXPECT_NE(answer.tool_calls[0].id, answer.tool_calls[1].id);
  EXPECT_EQ(answer.tool_calls[0].metadata, Json::object());
  EXPECT_EQ(folded(events).finish_reason, FinishReason::tool_calls);
  AdapterCall next = call_of({user("Roll"), answer, tool_result(answer.tool_calls[0].id, "{\"n\":1}"),
                              tool_result(answer.tool_calls[1].id, "2")});
  next.model = "gemini-2.5-flash";
  const Json body = written(next);
  EXPECT_EQ(body["contents"][1]["parts"][0], *parse_json(R"({"functionCall":{"name":"roll","args":{"sides":6}}})"));
  EXPECT_EQ(body["contents"][2]["parts"],
            *parse_json(R"([{"functionResponse":{"name":"roll","response":{"n":1}}},)"
                        R"({"functionResponse":{"name":"roll","response":{"output":"2"}}}])"));
}

TEST(Gemini, IdsOfCallsDifferFromTurnToTurn) {
  const char* chunk = R"({"candidates":[{"content":{"parts":[{"functionCall":{"name":"f"}}]},"finishReason":"STOP"}]})";
  AdapterCall later = call_of({user("a"), assistant("b"), user("c")});
  EXPECT_NE(stored_message(stream({chunk}, call_of({user("a")}))).tool_calls[0].id,
            stored_message(stream({chunk}, later)).tool_calls[0].id);
}

TEST(Gemini, ThoughtsAreReasoningAndTrailingSignaturesAreKept) {
  const std::vector<Event> events =
      stream({R"({"candidates":[{"content":{"parts":[{"text":"Plan","thought":true}],"role":"model"},"index":0}]})",
              R"({"candidates":[{"content":{"parts":[{"text":"Hel"}],"role":"model"},"index":0}]})",
              R"({"candidates":[{"content":{"parts":[{"text":"lo"}],"role":"model"},"index":0}]})",
              R"({"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"Ct"}],"role":"model"},)"
              R"("finishReason":"STOP","index":0}]})"});
  EXPECT_EQ(folded(events).output_text, "Hello");
  EXPECT_EQ(folded(events).reasoning, "Plan");
  const Json body = written(call_of({user("hi"), stored_message(events), user("go on")}));
  EXPECT_EQ(body["contents"][1]["parts"], *parse_json(R"([{"text":"Hello"},{"text":"","thoughtSignature":"Ct"}])"));
}

TEST(Gemini, ThoughtsWithoutASignatureAreKeptAndNotSent) {
  const std::vector<Event> events =
      stream({R"({"candidates":[{"content":{"parts":[{"text":"Let me ","thought":true}]}}]})",
              R"({"candidates":[{"content":{"parts":[{"text":"think","thought":true},{"text":"Yes"}]}}]})",
              R"({"candidates":[{"content":{"parts":[{"text":"."}]},"finishReason":"STOP"}]})"});
  const Message message = stored_message(events);
  EXPECT_EQ(message.text(), "Yes.");
  EXPECT_EQ(message.metadata["gemini"],
            Json::array({{{"text", "Let me think"}, {"thought", true}}, {{"text", "Yes."}}}));
  EXPECT_EQ(folded(events).metadata["reasoning"], Json({{"text", "Let me think"}}));
  const Json body = written(call_of({user("Well?"), message, user("Sure?")}));
  EXPECT_EQ(body["contents"][1], Json({{"role", "model"}, {"parts", Json::array({{{"text", "Yes."}}})}}));
}

TEST(Gemini, AnEditedMessageIsSentFromItsCurrentContent) {
  const Transcript transcript = load_transcript("gemini-thought-signature-roundtrip");
  Message answer = stored_message(decoded(codec(), {}, transcript.head, transcript.body));
  answer.tool_calls.pop_back();
  const Json body = written(call_of({user("x"), answer, tool_result("fc-7d1", "1")}));
  ASSERT_EQ(body["contents"][1]["parts"].size(), 1U);
  EXPECT_EQ(body["contents"][1]["parts"][0]["thoughtSignature"], "CoYBAe9tQw-sigA==");
  EXPECT_EQ(body["contents"][1]["parts"][0]["functionCall"]["id"], "fc-7d1");
}

TEST(Gemini, TheEndOfTheBodyEndsTheAnswer) {
  const std::vector<Event> events =
      stream({R"({"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]})",
              R"({"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}]})",
              R"({"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2,"totalTokenCount":3}})"});
  const Response response = folded(events);
  EXPECT_EQ(response.output_text, "ab");
  EXPECT_EQ(response.usage.total_tokens, 3);
  EXPECT_TRUE(last_error(stream({R"({"candidates":[{"content":{"parts":[{"text":"a"}]}}]})"}))
                  .is<AdapterError>(AdapterError::Reason::network_error));
}

TEST(Gemini, AnErrorDocumentAfterTheStreamIsReported) {
  const std::string body = sse({R"({"candidates":[{"content":{"parts":[{"text":"Well"}]}}]})"}) +
                           "{\r\n  \"error\": {\r\n    \"code\": 503,\r\n    \"message\": \"overloaded\",\r\n"
                           "    \"status\": \"UNAVAILABLE\"\r\n  }\r\n}\r\n";
  const std::vector<Event> events = decoded_in_every_way(codec(), {}, kStream, body);
  EXPECT_EQ(events.size(), 3U);
  EXPECT_TRUE(last_error(events).is<AdapterError>(AdapterError::Reason::provider_unavailable));
  EXPECT_EQ(last_error(events).message(), "overloaded");
}

TEST(Gemini, TheDelayOfAQuotaIsReadAndADailyQuotaIsNotRetryable) {
  const auto failed = [](const char* quota) {
    return codec().error({429, {}},
                         R"({"error":{"code":429,"message":"Quota","status":"RESOURCE_EXHAUSTED","details":[)"
                         R"({"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":")" +
                             std::string(quota) +
                             R"("}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo",)"
                             R"("retryDelay":"31.504200731s"}]}})");
  };
  const Error minute = failed("GenerateRequestsPerMinutePerProjectPerModel-FreeTier");
  EXPECT_TRUE(minute.is<AdapterError>(AdapterError::Reason::rate_limited));
  EXPECT_EQ(minute.get_if<AdapterError>()->retry_after_ms, 31505);
  EXPECT_FALSE(minute.metadata().contains("retryable"));
  EXPECT_EQ(failed("GenerateRequestsPerDayPerProjectPerModel-FreeTier").metadata()["retryable"], false);
}

TEST(Gemini, AListOfResponsesIsRead) {
  const std::string body = R"([{"candidates":[{"content":{"parts":[{"text":"a"}]}}]},)"
                           R"({"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}]}])";
  EXPECT_EQ(folded(decoded_in_every_way(codec(), {}, kWhole, body)).output_text, "ab");
  EXPECT_EQ(folded(decoded_in_every_way(codec(), {}, kStream, body)).output_text, "ab");
}

TEST(Gemini, RawChunksComeBeforeTheirEventsIfAskedFor) {
  const Transcript transcript = load_transcript("gemini-text");
  AdapterCall call;
  call.include_raw_chunks = true;
  const std::vector<Event> raw = decoded_in_every_way(codec(), call, transcript.head, transcript.body);
  std::vector<Event> others;
  std::ranges::copy_if(raw, std::back_inserter(others),
                       [](const Event& event) { return event.tag() != EventTag::raw_chunk; });
  EXPECT_EQ(raw.size() - others.size(), 3U);
  EXPECT_EQ(raw[0].tag(), EventTag::raw_chunk);
  EXPECT_TRUE(others == decoded(codec(), {}, transcript.head, transcript.body)) << "both paths agree";
}

TEST(Gemini, ABrokenChunkEndsTheStream) {
  const std::vector<Event> events = stream(
      {R"({"candidates":[{"content":{"parts":[{"text":"a"}]}}]})", R"({"candidates":[{"key":"AIzaSyABCDEFGHIJ)"});
  EXPECT_TRUE(last_error(events).is<StreamError>(StreamError::Reason::malformed_event));
  EXPECT_EQ(last_error(events).message().find("ABCDEFGHIJ"), std::string::npos);
  const std::vector<Event> usage = stream(
      {R"({"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}],"usageMetadata":{"a":nul}})"});
  EXPECT_TRUE(last_error(usage).is<StreamError>(StreamError::Reason::malformed_event));
}

TEST(Gemini, MalformedCountsAreAnErrorEvenIfOthersFollow) {
  const std::vector<Event> events =
      stream({R"({"candidates":[{"content":{"parts":[{"text":"a"}]}}],"usageMetadata":{"totalTokenCount":09}})",
              R"({"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}],"usageMetadata":{}})"});
  ASSERT_EQ(events.size(), 1U);
  EXPECT_TRUE(last_error(events).is<StreamError>(StreamError::Reason::malformed_event));
}

TEST(Gemini, EveryBodyEndsWithOneTerminalEvent) {
  for (const char* body : {"", "null", "[]", "{", "{}", "[1]", R"({"candidates":{}})", R"({"candidates":[1,null,{}]})",
                           R"({"error":"x"})", R"([{"error":{"code":429}}])", "\xff\xfe", R"({"promptFeedback":{}})",
                           R"({"candidates":[{"content":{"parts":[7,{"functionCall":3},{"text":4}]}}]})"}) {
    for (const HttpResponseHead* head : {&kWhole, &kStream}) {
      ASSERT_FALSE(decoded_in_every_way(codec(), {}, *head, body).empty()) << body;
    }
    const std::vector<Event> events = stream({body, R"({"candidates":[{"finishReason":"WHATEVER"}]})"});
    const EventTag tag = events.back().tag();
    EXPECT_TRUE(tag == EventTag::message_completed || tag == EventTag::error) << body;
  }
}

}  // namespace
}  // namespace allm::gemini_test
