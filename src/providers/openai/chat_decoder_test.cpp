// Streams and whole answers of Chat Completions, and the variants that servers send.
#include <gtest/gtest.h>

#include "providers/openai/openai.hpp"
#include "providers/openai/presets.hpp"
#include "tests/transcript_fixture.hpp"

namespace allm::chat_decoder_test {
namespace {

using Reason = AdapterError::Reason;

const HttpResponseHead kStream{200, {{"content-type", "text/event-stream"}}};
const HttpResponseHead kJson{200, {{"Content-Type", "application/json; charset=utf-8"}}};

AdapterCall chat_call() {
  AdapterCall call;
  call.model = "m";
  call.request_id = "run1";
  call.options["endpoint"] = "chat";
  return call;
}

std::string sse(const std::vector<std::string>& chunks) {
  std::string body;
  for (std::string chunk : chunks) {
    std::ranges::replace(chunk, '\n', ' ');  // an event's data is one line
    body += "data: " + chunk + "\n\n";
  }
  return body;
}
// A chunk with that delta, and with that finish_reason.
std::string delta(const std::string& members) {
  return R"({"id":"r","model":"m","choices":[{"index":0,"delta":{)" + members + R"(},"finish_reason":null}]})";
}
std::string finish(const std::string& reason) {
  return R"({"id":"r","choices":[{"index":0,"delta":{},"finish_reason":")" + reason + R"("}]})";
}
std::string calls(const std::string& list) { return delta(R"("tool_calls":[)" + list + "]"); }

std::vector<Event> stream(const std::vector<std::string>& chunks, const OpenAiCodecOptions& options = {}) {
  return decoded_in_every_way(*openai_codec(options), chat_call(), kStream, sse(chunks));
}
Response response_of(const std::vector<std::string>& chunks, const OpenAiCodecOptions& options = {}) {
  return folded(stream(chunks, options));
}

Error error_of(const std::vector<Event>& events) {
  const auto* error = events.empty() ? nullptr : events.back().get_if<ErrorEvent>();
  if (error != nullptr) return error->error;
  ADD_FAILURE() << "no error: " << in_notation(events);
  return Error(StreamError{});
}
void expect_reason(const std::vector<Event>& events, Reason reason) {
  EXPECT_TRUE(error_of(events).is<AdapterError>(reason)) << error_of(events).reason() << error_of(events).message();
}
void expect_malformed(const std::vector<Event>& events) {
  EXPECT_TRUE(error_of(events).is<StreamError>(StreamError::Reason::malformed_event)) << error_of(events).message();
}

TEST(ChatDecoder, AReusedIndexIsANewCall) {
  const Response response = response_of(
      {calls(R"({"id":"x1","index":0,"function":{"name":"w","arguments":"{\"p\":1}"}})"),
       calls(R"({"id":"x2","index":0,"function":{"name":"w","arguments":"{\"p\":2}"}})"), finish("stop"), "[DONE]"});
  ASSERT_EQ(response.tool_calls.size(), 2U);
  EXPECT_EQ(response.tool_calls[0].id, "x1");
  EXPECT_EQ(response.tool_calls[1].arguments, Json({{"p", 2}}));
  EXPECT_EQ(response.finish_reason, FinishReason::tool_calls);
  EXPECT_EQ(response.raw_finish_reason, "stop");
}

TEST(ChatDecoder, CallsWithoutIdsGetDifferentIds) {
  const Response response = response_of({calls(R"({"index":0,"id":"","function":{"name":"w","arguments":"{}"}})"),
                                         calls(R"({"index":0,"function":{"name":"w","arguments":"{}"}})"),
                                         calls(R"({"function":{"name":"w","arguments":{"a":1}}})"),
                                         calls(R"({"index":7,"id":null,"function":{"name":"v"}})"), finish("stop")});
  ASSERT_EQ(response.tool_calls.size(), 4U);
  std::set<std::string> ids;
  for (const ToolCall& call : response.tool_calls) ids.insert(call.id);
  EXPECT_EQ(ids.size(), 4U);
  EXPECT_FALSE(ids.contains(""));
  EXPECT_EQ(response.tool_calls[2].raw_arguments, R"({"a":1})");
  EXPECT_EQ(response.tool_calls[3].arguments, Json::object());
}

TEST(ChatDecoder, GeneratedIdsDifferFromTurnToTurn) {
  AdapterCall call = chat_call();
  const std::string body = sse({calls(R"({"index":0,"function":{"name":"w"}})"), finish("stop")});
  const Response first = folded(decoded(*openai_codec(), call, kStream, body));
  call.request.messages = {user("hi")};
  const Response second = folded(decoded(*openai_codec(), call, kStream, body));
  EXPECT_NE(first.tool_calls[0].id, second.tool_calls[0].id);
}

TEST(ChatDecoder, TwoCallsWithOneIdAreTwoCalls) {
  const Response response = response_of({calls(R"({"index":0,"id":"a","function":{"name":"w","arguments":"{}"}},
                                                   {"index":1,"id":"a","function":{"name":"w","arguments":"{}"}})"),
                                         finish("tool_calls")});
  ASSERT_EQ(response.tool_calls.size(), 2U);
  EXPECT_NE(response.tool_calls[0].id, response.tool_calls[1].id);
}

TEST(ChatDecoder, FragmentsBeforeTheNameAreHeld) {
  const std::vector<Event> events =
      stream({calls(R"({"index":0,"id":"a","function":{"arguments":"{\"x\""}})"),
              calls(R"({"index":0,"function":{"name":"w","arguments":":1"}})"),
              calls(R"({"index":0,"function":{"name":"","arguments":"}"}})"), finish("tool_calls"), "[DONE]"});
  EXPECT_EQ(in_notation(events),
            *parse_json(R"([["message_started"],["tool_call_started","a","w"],["tool_call_delta","a","{\"x\":1"],
              ["tool_call_delta","a","}"],["tool_call_completed","a","w",{"x":1},"{\"x\":1}"],
              ["message_completed","tool_calls"]])"));
}

TEST(ChatDecoder, FragmentsWithoutIndexGoToTheirIdOrTheLastCall) {
  const Response response =
      response_of({calls(R"({"id":"a","function":{"name":"w","arguments":"{"}})"),
                   calls(R"({"id":"b","function":{"name":"v","arguments":"{"}})"),
                   calls(R"({"function":{"arguments":"\"y\":2}"}})"),
                   calls(R"({"id":"a","function":{"arguments":"\"x\":1}"}})"), finish("tool_calls")});
  ASSERT_EQ(response.tool_calls.size(), 2U);
  EXPECT_EQ(response.tool_calls[0].arguments, Json({{"x", 1}}));
  EXPECT_EQ(response.tool_calls[1].arguments, Json({{"y", 2}}));
}

TEST(ChatDecoder, OldFormsOfCallsAreRead) {
  const Response old = response_of({delta(R"("function_call":{"name":"f","arguments":"{\"a\":"})"),
                                    delta(R"("function_call":{"arguments":"1}"})"), finish("function_call")});
  ASSERT_EQ(old.tool_calls.size(), 1U);
  EXPECT_EQ(old.tool_calls[0].arguments, Json({{"a", 1}}));
  EXPECT_EQ(old.finish_reason, FinishReason::tool_calls);
  EXPECT_EQ(old.raw_finish_reason, "function_call");
  const Response inside =
      response_of({calls(R"({"index":0,"function":{"id":"z","name":"f","arguments":"{}"}})"), finish("tool_calls")});
  EXPECT_EQ(inside.tool_calls.at(0).id, "z");
}

TEST(ChatDecoder, ACallWithoutANameIsAnError) {
  expect_reason(stream({calls(R"({"index":0,"id":"a","function":{"arguments":"{}"}})"), finish("tool_calls")}),
                Reason::malformed_response);
}

TEST(ChatDecoder, TruncatedArgumentsKeepTheirText) {
  const Response response =
      response_of({calls(R"({"index":0,"id":"a","function":{"name":"w","arguments":"{\"x"}})"), finish("length")});
  EXPECT_EQ(response.finish_reason, FinishReason::length);
  EXPECT_EQ(response.tool_calls.at(0).arguments, Json::object());
  EXPECT_EQ(response.tool_calls.at(0).raw_arguments, "{\"x");
}

TEST(ChatDecoder, FinishReasons) {
  const auto finished = [](const std::string& reason) {
    const Response response = response_of({delta(R"("content":"x")"), finish(reason), "[DONE]"});
    return std::pair(response.finish_reason, response.raw_finish_reason);
  };
  const std::optional<std::string> none;
  EXPECT_EQ(finished("stop"), std::pair(std::optional(FinishReason::stop), none));
  EXPECT_EQ(finished("content_filter"), std::pair(std::optional(FinishReason::content_filter), none));
  EXPECT_EQ(finished("model_length"),
            std::pair(std::optional(FinishReason::length), std::optional<std::string>("model_length")));
  EXPECT_EQ(finished("odd"), std::pair(std::optional(FinishReason::other), std::optional<std::string>("odd")));
  EXPECT_EQ(finished("tool_calls"),
            std::pair(std::optional(FinishReason::stop), std::optional<std::string>("tool_calls")));
  EXPECT_EQ(finished(""), std::pair(std::optional<FinishReason>(), none));
  expect_reason(stream({delta(R"("content":"x")"), finish("error")}), Reason::provider_unavailable);
}

TEST(ChatDecoder, ALaterNullDoesNotUndoTheFinish) {
  const Response response =
      response_of({R"({"choices":[],"prompt_filter_results":[]})", delta(R"("content":"x")"), finish("stop"),
                   R"({"choices":[{"index":0,"finish_reason":null,"content_filter_results":{}}]})", "[DONE]"});
  EXPECT_EQ(response.finish_reason, FinishReason::stop);
  EXPECT_EQ(response.output_text, "x");
}

TEST(ChatDecoder, OnlyTheFirstChoiceCounts) {
  const Response response = response_of(
      {R"({"choices":[{"index":1,"delta":{"content":"no"},"finish_reason":"length"}]})", delta(R"("content":"yes")"),
       R"({"choices":[{"index":0,"delta":{"content":"!"}},{"index":1,"delta":{"content":"no"}}]})", finish("stop")});
  EXPECT_EQ(response.output_text, "yes!");
  EXPECT_EQ(response.finish_reason, FinishReason::stop);
}

TEST(ChatDecoder, UsageIsFoundWhereverItIs) {
  const Response groq = response_of(
      {R"({"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}],"x_groq":{"id":"q","usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7,"queue_time":0.1}}})"});
  EXPECT_EQ(groq.usage.input_tokens, 3);
  EXPECT_EQ(groq.usage.output_tokens, 4);
  EXPECT_EQ(groq.usage.extra, Json({{"queue_time", 0.1}}));
  const Response last = response_of(
      {R"({"choices":[{"index":0,"delta":{"content":"x"}}],"usage":{"prompt_tokens":1,"completion_tokens":-1}})",
       R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":2.0,"prompt_tokens_details":{"cached_tokens":1,"cache_write_tokens":1,"audio_tokens":0}}})"});
  EXPECT_EQ(last.usage.input_tokens, 2);
  EXPECT_EQ(last.usage.output_tokens, std::nullopt);
  EXPECT_EQ(last.usage.cached_input_tokens, 1);
  EXPECT_EQ(last.usage.cache_write_input_tokens, 1);
  EXPECT_EQ(last.usage.extra, Json({{"prompt_tokens_details", {{"audio_tokens", 0}}}}));
  const Response xai = response_of(
      {R"({"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":17,"completion_tokens_details":{"reasoning_tokens":10}}})"});
  EXPECT_EQ(xai.usage.output_tokens, 12) << "reasoning is part of the output";
}

TEST(ChatDecoder, ReasoningIsKeptSeparateAndSentBack) {
  const std::vector<std::string> chunks = {
      delta(R"("reasoning_content":"a")"), delta(R"("reasoning_content":"b","content":null)"),
      calls(R"({"index":0,"id":"c","function":{"name":"f","arguments":"{}"}})"), finish("tool_calls")};
  const Response plain = response_of(chunks);
  EXPECT_EQ(plain.reasoning, "ab");
  EXPECT_EQ(plain.metadata["reasoning"], Json({{"text", "ab"}}));
  EXPECT_EQ(plain.message->metadata, Json::object());
  const Response echoed = response_of(chunks, options_of(*find_openai_preset("deepseek")));
  EXPECT_EQ(echoed.message->metadata["deepseek"], Json({{"reasoning_content", "ab"}}));
}

TEST(ChatDecoder, ReasoningDetailsAreJoined) {
  const Response response = response_of(
      {delta(R"("reasoning":"x","reasoning_details":[{"type":"reasoning.text","index":0,"text":"x"}])"),
       delta(R"("reasoning":"y","reasoning_details":[{"type":"reasoning.text","index":0,"text":"y","signature":"s"}])"),
       delta(R"("reasoning_details":[{"type":"reasoning.encrypted","index":1,"data":"d"}])"), finish("stop")});
  EXPECT_EQ(response.message->metadata["openai"]["reasoning_details"],
            *parse_json(R"([{"type":"reasoning.text","index":0,"text":"xy","signature":"s"},
              {"type":"reasoning.encrypted","index":1,"data":"d"}])"));
  EXPECT_EQ(response.metadata["reasoning"], Json({{"text", "xy"}}));
}

TEST(ChatDecoder, SignaturesOfCallsAreKept) {
  const Response response = response_of(
      {calls(
           R"({"index":0,"id":"a","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s"}}})"),
       finish("tool_calls")});
  EXPECT_EQ(response.tool_calls[0].metadata["openai"]["extra_content"]["google"]["thought_signature"], "s");
}

TEST(ChatDecoder, ContentMayBeParts) {
  const Response response = response_of(
      {delta(R"("content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"a"}])"),
       delta(R"("content":[{"type":"text","text":"b"}])"), finish("stop")});
  EXPECT_EQ(response.output_text, "ab");
  EXPECT_EQ(response.reasoning, "hm");
}

TEST(ChatDecoder, ChunksThatTheFastReaderRejectsAreRead) {
  const Response response = response_of(
      {delta(R"("content":"a","content":"b")"), delta(R"("c\u006fntent":"c")"),
       R"({"id":"r","big":123456789012345678901234567890,"choices":[{"index":0,"delta":{"content":"d"}}]})",
       R"({"ch\u006fices":[{"index":0,"delta":{"content":"e"}}]})",
       R"({"choices":[{"index":0,"delta":{"content":"f"}}],"choices":[{"index":0,"delta":{"content":"g"}}]})",
       R"({"choices":[{"message":{"content":"h"}}]})", finish("stop")});
  EXPECT_EQ(response.output_text, "bcdegh");
}

TEST(ChatDecoder, TextAndACallInOneChunkKeepTheirOrder) {
  const auto events = stream({delta(R"("content":"Look:","tool_calls":[{"index":0,"id":"c","type":"function",)"
                                    R"("function":{"name":"f","arguments":"{"}}])"),
                              delta(R"("content":" so","tool_calls":[{"index":0,"function":{"arguments":"}"}}])"),
                              finish("tool_calls"), "[DONE]"});
  ASSERT_GE(events.size(), 6U);
  EXPECT_NE(events[1].get_if<TextDelta>(), nullptr);
  EXPECT_NE(events[2].get_if<ToolCallStarted>(), nullptr);
  EXPECT_NE(events[4].get_if<TextDelta>(), nullptr);
  EXPECT_NE(events[5].get_if<ToolCallDelta>(), nullptr);
}

TEST(ChatDecoder, ACallMayBeginAndEndInOneChunkWithTheFinish) {
  const Response response =
      response_of({R"({"id":"r","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c",)"
                   R"("type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},)"
                   R"("finish_reason":"tool_calls"}]})",
                   "[DONE]"});
  ASSERT_EQ(response.tool_calls.size(), 1U);
  EXPECT_EQ(response.tool_calls[0].arguments, Json({{"a", 1}}));
  EXPECT_EQ(response.finish_reason, FinishReason::tool_calls);
  EXPECT_EQ(response.id, "r");
}

TEST(ChatDecoder, TheLastValueOfARepeatedKeyIsUsed) {
  EXPECT_EQ(response_of({delta(R"("content":"a","content":null)"), finish("stop"), "[DONE]"}).text(), "");
  EXPECT_EQ(response_of({delta(R"("content":null,"content":"a")"), finish("stop"), "[DONE]"}).text(), "a");
  const std::string call = R"([{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}])";
  EXPECT_TRUE(response_of({delta(R"("tool_calls":)" + call + R"(,"tool_calls":null)"), finish("stop"), "[DONE]"})
                  .tool_calls.empty());
}

TEST(ChatDecoder, EscapesAndUnicodeArrive) {
  EXPECT_EQ(response_of({delta(R"("content":"\u00e9\n\"\ud83c\udf0a é")"), finish("stop")}).output_text, "é\n\"🌊 é");
}

TEST(ChatDecoder, ErrorsWithinAStream) {
  const std::string partial = delta(R"("content":"Well")");
  expect_reason(stream({partial, R"({"error":{"message":"m","type":"server_error","code":null}})", "[DONE]"}),
                Reason::provider_unavailable);
  expect_reason(
      stream(
          {partial,
           R"({"id":"g","error":{"code":502,"message":"Provider disconnected","metadata":{"error_type":"provider_unavailable"}},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]})",
           "[DONE]"}),
      Reason::provider_unavailable);
  expect_reason(stream({R"({"error":"too fast","code":"rate_limit_exceeded"})"}), Reason::rate_limited);
  expect_reason(stream({R"([{"error":{"code":400,"message":"maximum context length is 8"}}])"}),
                Reason::context_length_exceeded);
  expect_reason(stream({R"({"object":"error","message":"no","code":401})"}), Reason::authentication_failed);
  expect_reason(stream({R"({"error":{"message":"m","code":"content_filter"}})"}), Reason::content_filter);
  const Error quota = error_of(stream({R"({"error":{"message":"m","code":"insufficient_quota"}})"}));
  EXPECT_TRUE(quota.is<AdapterError>(Reason::rate_limited));
  EXPECT_EQ(quota.metadata()["retryable"], false);
}

TEST(ChatDecoder, AnErrorBeforeTheMessageIsTheOnlyEvent) {
  EXPECT_EQ(stream({R"({"error":{"message":"m","type":"server_error"}})", "[DONE]"}).size(), 1U);
}

TEST(ChatDecoder, ErrorsOutsideOfDataAreFound) {
  const auto events = decoded_in_every_way(*openai_codec(), chat_call(), kStream,
                                           "error: {\"code\":400,\"message\":\"the request exceeds the available "
                                           "context size\",\"type\":\"x\"}\n\ndata: [DONE]\n\n");
  expect_reason(events, Reason::context_length_exceeded);
  expect_reason(decoded_in_every_way(*openai_codec(), chat_call(), kStream,
                                     sse({delta(R"("content":"x")")}) + "{\"error\":{\"code\":503,\"message\":\"m\"}}"),
                Reason::provider_unavailable);
  expect_reason(decoded_in_every_way(*openai_codec(), chat_call(), kStream, "<html>login</html>\n"),
                Reason::malformed_response);
}

TEST(ChatDecoder, ATruncatedStreamIsANetworkError) {
  expect_reason(stream({}), Reason::network_error);
  expect_reason(stream({delta(R"("content":"x")")}), Reason::network_error);
  expect_reason(stream({"[DONE]"}), Reason::network_error);
  EXPECT_EQ(response_of({delta(R"("content":"x")"), "[DONE]"}).finish_reason, std::nullopt);
}

TEST(ChatDecoder, MalformedEventsEndTheStream) {
  for (const char* chunk : {R"({"id":"r","choices":[{"index":0,"delta":{"content":"far)", "nonsense", "17", "\"x\"",
                            R"({"choices":[{"index":0,"delta":{"content":"x"}}]} {})", "[1]", "{} trailing"}) {
    expect_malformed(stream({delta(R"("content":"ok")"), chunk, finish("stop"), "[DONE]"}));
  }
  const Error error = error_of(stream({"{ sk-proj-PLANTED0123456789"}));
  EXPECT_EQ(error.message().find("PLANTED"), std::string::npos);
}

TEST(ChatDecoder, BytesThatAreNotValidUtf8AreMalformed) {
  expect_malformed(stream({delta(R"("content":"ok")"), delta("\"content\":\"\xFF\"")}));
}

TEST(ChatDecoder, WholeAnswersAreRead) {
  const std::string body =
      R"({"id":"w","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[
        {"type":"function","function":{"name":"f","arguments":{"a":1}}},
        {"id":"","type":"function","function":{"name":"g","arguments":"{}"}}]},"finish_reason":"tool_calls"}]})";
  for (const HttpResponseHead& head : {kJson, kStream, HttpResponseHead{200, {}}}) {
    const auto events = decoded_in_every_way(*openai_codec(), chat_call(), head, "\n\n  " + body);
    const Response response = folded(events);
    ASSERT_EQ(response.tool_calls.size(), 2U);
    EXPECT_EQ(response.tool_calls[0].raw_arguments, R"({"a":1})");
    EXPECT_NE(response.tool_calls[0].id, response.tool_calls[1].id);
    EXPECT_EQ(response.finish_reason, FinishReason::tool_calls);
    EXPECT_EQ(response.id, "w");
  }
}

TEST(ChatDecoder, WholeBodiesThatAreNotAnAnswerAreErrors) {
  const auto whole = [](const char* body) { return decoded_in_every_way(*openai_codec(), chat_call(), kJson, body); };
  for (const char* body : {"", "  ", "{", "null", "[]", "[1]", "<html>", "{}", R"({"choices":null})"}) {
    expect_reason(whole(body), Reason::malformed_response);
  }
  expect_reason(whole(R"({"error":{"message":"m","code":429}})"), Reason::rate_limited);
  expect_reason(whole(R"([{"error":{"message":"m","code":503}}])"), Reason::provider_unavailable);
}

TEST(ChatDecoder, RawChunksPrecedeTheirEvents) {
  AdapterCall call = chat_call();
  call.include_raw_chunks = true;
  const std::string chunk = delta(R"("content":"x")");
  const auto events = decoded(*openai_codec(), call, kStream, sse({chunk, finish("stop"), "[DONE]"}));
  ASSERT_EQ(events.size(), 5U);
  EXPECT_NE(events[0].get_if<MessageStarted>(), nullptr);
  ASSERT_NE(events[1].get_if<RawChunk>(), nullptr);
  EXPECT_EQ(events[1].get_if<RawChunk>()->chunk, *parse_json(chunk));
  EXPECT_NE(events[2].get_if<TextDelta>(), nullptr);
  EXPECT_NE(events[3].get_if<RawChunk>(), nullptr);
  EXPECT_NE(events[4].get_if<MessageCompleted>(), nullptr);
  EXPECT_EQ(decoded(*openai_codec(), call, kStream, sse({R"({"error":"x"})"})).size(), 1U);
}

TEST(ChatDecoder, ATooLargeEventIsMalformed) {
  const auto decoder = openai_codec()->decoder(chat_call(), kStream);
  std::vector<Event> events;
  const std::string piece(8U << 20U, 'x');
  decoder->feed("data: {\"", events);
  for (int i = 0; i < 9 && !decoder->done(); ++i) decoder->feed(piece, events);
  EXPECT_TRUE(decoder->done());
  expect_malformed(events);
}

TEST(ChatDecoder, TooManyCallsAreMalformed) {
  std::string list;
  for (int i = 0; i < 4'100; ++i) list += (i > 0 ? "," : "") + std::string(R"({"function":{"name":"f"}})");
  const auto events = decoded(*openai_codec(), chat_call(), kStream, sse({calls(list)}));
  expect_malformed(events);
}

TEST(ChatDecoder, HostileShapesAreHarmless) {
  for (const char* chunk :
       {"{}", R"({"choices":{}})", R"({"choices":[]})", R"({"choices":[null,1,"x",[]]})",
        R"({"choices":[{"index":"0","delta":7}]})", R"({"choices":[{"delta":{"content":7,"tool_calls":"x"}}]})",
        R"({"choices":[{"delta":{"tool_calls":[null,{},{"index":-5},{"index":1e300}]}}]})",
        R"({"usage":[],"x_groq":3,"choices":null})", R"({"id":5,"model":[],"usage":{"prompt_tokens":"9"}})",
        R"({"choices":[{"delta":{"reasoning_details":[1,{}],"content":[1,{"thinking":[2]}]}}]})"}) {
    const auto events = stream({chunk, delta(R"("content":"x")"), finish("stop"), "[DONE]"});
    ASSERT_FALSE(events.empty());
    EXPECT_TRUE(events.back().get_if<MessageCompleted>() != nullptr || events.back().get_if<ErrorEvent>() != nullptr);
  }
}

}  // namespace
}  // namespace allm::chat_decoder_test
