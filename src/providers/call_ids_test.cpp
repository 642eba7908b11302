// Two calls that a provider sends with one id become two calls with different ids.
#include "providers/call_ids.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "allm/collector.hpp"

#include "providers/anthropic/anthropic.hpp"
#include "providers/codec.hpp"
#include "providers/gemini/gemini.hpp"
#include "providers/openai/openai.hpp"

namespace allm::call_ids_test {
namespace {

struct Answer {
  const char* name;
  std::shared_ptr<const Codec> codec;
  const char* model;
  bool whole;
  std::vector<std::string> chunks;
};

Response decoded(const Answer& answer) {
  AdapterCall call;
  call.model = answer.model;
  call.request.messages = {user("hi")};
  const HttpResponseHead head{200, {{"content-type", answer.whole ? "application/json" : "text/event-stream"}}};
  const std::unique_ptr<BodyDecoder> decoder = answer.codec->decoder(call, head);
  std::vector<Event> events;
  for (std::string chunk : answer.chunks) {
    std::ranges::replace(chunk, '\n', ' ');  // the data of an event is one line
    decoder->feed(answer.whole ? chunk : "data: " + chunk + "\n\n", events);
  }
  decoder->finish(events);
  StreamCollector collector;
  for (const Event& event : events) collector.apply(event);
  const Result<Response> response = collector.response();
  EXPECT_TRUE(response.has_value()) << answer.name;
  return response.value_or(Response{});
}

std::vector<Answer> answers() {
  const char* item = R"({"type":"function_call","call_id":"same","name":"roll","arguments":"{\"n\":)";
  const std::string first = std::string(item) + R"(1}","id":"fc_1"})";
  const std::string second = std::string(item) + R"(2}","id":"fc_2"})";
  const std::string nameless = std::string(item) + R"(1}"})";
  const std::string nameless_2 = std::string(item) + R"(2}"})";
  return {
      {"chat, by index",
       openai_codec(),
       "gpt-4.1",
       false,
       {R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"same","function":{"name":"roll","arguments":"{\"n\":1}"}},
            {"index":1,"id":"same","function":{"name":"roll","arguments":"{\"n\":2}"}}]}}]})",
        R"({"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]})", "[DONE]"}},
      {"chat, without index",
       openai_codec(),
       "gpt-4.1",
       false,
       {R"({"choices":[{"index":0,"delta":{"tool_calls":[{"id":"same","function":{"name":"roll","arguments":"{\"n\":1}"}}]}}]})",
        R"({"choices":[{"index":0,"delta":{"tool_calls":[{"id":"same","function":{"name":"roll","arguments":"{\"n\":2}"}}]}}]})",
        R"({"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]})", "[DONE]"}},
      {"responses",
       openai_codec(),
       "gpt-5",
       false,
       {R"({"type":"response.output_item.added","output_index":0,"item":)" + first + "}",
        R"({"type":"response.output_item.added","output_index":1,"item":)" + second + "}",
        R"({"type":"response.completed","response":{"status":"completed","output":[)" + first + "," + second + "]}}"}},
      {"responses, whole and without item ids",
       openai_codec(),
       "gpt-5",
       true,
       {R"({"status":"completed","output":[)" + nameless + "," + nameless_2 + "]}"}},
      {"anthropic",
       anthropic_codec(),
       "claude-haiku-4-5",
       false,
       {R"({"type":"message_start","message":{"id":"m","role":"assistant","content":[]}})",
        R"({"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"same","name":"roll","input":{}}})",
        R"({"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"n\":1}"}})",
        R"({"type":"content_block_stop","index":0})",
        R"({"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"same","name":"roll","input":{}}})",
        R"({"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"n\":2}"}})",
        R"({"type":"content_block_stop","index":1})", R"({"type":"message_delta","delta":{"stop_reason":"tool_use"}})",
        R"({"type":"message_stop"})"}},
      {"gemini",
       gemini_codec(),
       "gemini-2.5-flash",
       false,
       {R"({"candidates":[{"content":{"parts":[{"functionCall":{"name":"roll","args":{"n":1},"id":"same"}},
            {"functionCall":{"name":"roll","args":{"n":2},"id":"same"}}]},"finishReason":"STOP"}]})"}},
  };
}

TEST(CallIds, TwoCallsWithOneIdAreBothKept) {
  for (const Answer& answer : answers()) {
    SCOPED_TRACE(answer.name);
    const Response response = decoded(answer);
    ASSERT_EQ(response.tool_calls.size(), 2U);
    EXPECT_EQ(response.tool_calls[0].id, "same");
    EXPECT_EQ(response.tool_calls[1].id, "same-2");
    EXPECT_EQ(response.tool_calls[0].arguments, Json({{"n", 1}}));
    EXPECT_EQ(response.tool_calls[1].arguments, Json({{"n", 2}}));
    EXPECT_EQ(response.message->tool_calls, response.tool_calls);
  }
}

// In the next request, each result must have the id of its call.
TEST(CallIds, ResultsInTheNextRequestMatchTheirCalls) {
  for (const Answer& answer : answers()) {
    SCOPED_TRACE(answer.name);
    AdapterCall call;
    call.model = answer.model;
    const Message said = decoded(answer).message.value_or(Message{});
    call.request.messages = {user("hi"), said, tool_result("same", "1"), tool_result("same-2", "2")};
    const Result<HttpRequest> request = answer.codec->write(call);
    ASSERT_TRUE(request.has_value()) << request.error().message();
    if (std::string_view(answer.name) == "gemini") continue;  // matches by order where an id is missing
    std::size_t count = 0;
    for (std::size_t at = 0; (at = request->body.find("same-2", at)) != std::string::npos; ++at) ++count;
    EXPECT_EQ(count, 2U) << request->body;
  }
}

TEST(CallIds, ANumberIsAddedUntilTheIdIsFree) {
  const std::set<std::string> taken = {"a", "a-2"};
  const auto is_taken = [&taken](const std::string& id) { return taken.contains(id); };
  EXPECT_EQ(unique_call_id("b", is_taken), "b");
  EXPECT_EQ(unique_call_id("a", is_taken), "a-3");
}

}  // namespace
}  // namespace allm::call_ids_test
