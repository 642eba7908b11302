// Two calls that a provider sends with one id become two calls with different ids, and every request has ids that its
// provider accepts.
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
#include "providers/openai/presets.hpp"

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
  UniqueCallIds ids;
  EXPECT_EQ(ids.add("a"), "a");
  EXPECT_EQ(ids.add("a-2"), "a-2");
  EXPECT_EQ(ids.add("b"), "b");
  EXPECT_EQ(ids.add("a"), "a-3");
  EXPECT_EQ(ids.add("a"), "a-4");
  EXPECT_EQ(ids.add("a-2"), "a-2-2");
  EXPECT_TRUE(ids.contains("a-4"));
  EXPECT_FALSE(ids.contains("a-5"));
}

// ---- ids in requests

struct Target {
  std::string name;
  std::shared_ptr<const Codec> codec;
  const char* model;
  std::size_t max_size;
  const char* characters;  // null: any
};

constexpr const char* kAlphanumeric = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr const char* kWord = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-";

std::vector<Target> targets() {
  std::vector<Target> all = {
      {"openai chat", openai_codec(), "gpt-4.1", 40, nullptr},
      {"openai responses", openai_codec(), "gpt-5", 64, nullptr},
      {"anthropic", anthropic_codec(), "claude-haiku-4-5", 64, kWord},
  };
  for (const OpenAiPreset& preset : openai_presets()) {
    OpenAiCodecOptions options = options_of(preset);
    if (options.base_url.empty()) options.base_url = "https://example.test/v1";
    const bool is_mistral = preset.name == "mistral";
    all.push_back({std::string(preset.name), openai_codec(std::move(options)), "some-model", is_mistral ? 9U : 40U,
                   is_mistral ? kAlphanumeric : nullptr});
  }
  all.push_back({"claude at openrouter", openai_codec(options_of(*find_openai_preset("openrouter"))),
                 "anthropic/claude-sonnet-4.6", 40, kWord});
  all.push_back({"mistral at vllm", openai_codec(options_of(*find_openai_preset("vllm"))), "mistralai/Devstral-Small",
                 9, kAlphanumeric});
  return all;
}

std::string body_of(const Target& target, const MessageList& messages) {
  AdapterCall call;
  call.model = target.model;
  call.request.messages = messages;
  const Result<HttpRequest> request = target.codec->write(call, AnswerForm::stream);
  EXPECT_TRUE(request.has_value()) << target.name << ": " << (request ? "" : request.error().message());
  return request ? request->body : "{}";
}

// The ids in a body, in order: of calls, and of answers.
void find_ids(const Json& value, std::vector<std::string>& calls, std::vector<std::string>& answers) {
  if (value.is_object()) {
    const std::string type = value.contains("type") && value["type"].is_string() ? value["type"] : "";
    if (type == "function") calls.push_back(value.value("id", "none"));
    if (type == "tool_use") calls.push_back(value.value("id", "none"));
    if (type == "function_call") calls.push_back(value.value("call_id", "none"));
    for (const char* name : {"tool_call_id", "tool_use_id"}) {
      if (value.contains(name)) answers.push_back(value[name]);
    }
    if (type == "function_call_output") answers.push_back(value["call_id"]);
  }
  if (!value.is_structured()) return;
  for (const Json& member : value) find_ids(member, calls, answers);
}

// Turns of one call and its answer each, with these ids.
MessageList conversation(const std::vector<std::string>& ids) {
  std::vector<Message> messages = {user("hi")};
  for (const std::string& id : ids) {
    Message calling = assistant("");
    calling.tool_calls = {{.id = id, .name = "roll"}};
    messages.push_back(std::move(calling));
    messages.push_back(tool_result(id, "1"));
  }
  return MessageList(std::move(messages));
}

const std::vector<std::string> kForeignIds = {"call_1",  // twice: some servers begin to count again in each message
                                              "abcDEF123",
                                              "functions.roll:0",
                                              "call_1",
                                              "",
                                              std::string(41, 'x'),
                                              std::string(65, 'y'),
                                              std::string(450, 'z'),
                                              "toolu_01A09q90qw90lq917835lq9",
                                              "gemini-0123456789abcdef-12-0",
                                              "tool 2/\u00e4"};

TEST(CallIds, InEveryRequestAreAcceptedByTheProviderAndUnique) {
  for (const Target& target : targets()) {
    SCOPED_TRACE(target.name);
    std::vector<std::string> calls;
    std::vector<std::string> answers;
    find_ids(Json::parse(body_of(target, conversation(kForeignIds))), calls, answers);
    ASSERT_EQ(calls.size(), kForeignIds.size());
    EXPECT_EQ(calls, answers);
    EXPECT_EQ(std::set<std::string>(calls.begin(), calls.end()).size(), calls.size()) << "an id occurs twice";
    for (const std::string& id : calls) {
      EXPECT_FALSE(id.empty());
      EXPECT_LE(id.size(), target.max_size) << id;
      const bool any = target.characters == nullptr;
      EXPECT_TRUE(any || id.find_first_not_of(target.characters) == std::string::npos) << id;
      EXPECT_TRUE(target.max_size != 9 || id.size() == 9) << id;
    }
  }
}

TEST(CallIds, DoNotChangeWhileTheConversationGrows) {
  for (const Target& target : targets()) {
    SCOPED_TRACE(target.name);
    std::vector<std::string> before;
    for (std::size_t count = 1; count <= kForeignIds.size(); ++count) {
      std::vector<std::string> calls;
      std::vector<std::string> answers;
      const std::vector<std::string> ids(kForeignIds.begin(), kForeignIds.begin() + static_cast<std::ptrdiff_t>(count));
      find_ids(Json::parse(body_of(target, conversation(ids))), calls, answers);
      ASSERT_EQ(calls.size(), count);
      EXPECT_TRUE(std::equal(before.begin(), before.end(), calls.begin()));
      before = calls;
    }
  }
}

TEST(CallIds, ThatTheProviderAcceptsAreSentUnchanged) {
  for (const Target& target : targets()) {
    SCOPED_TRACE(target.name);
    std::vector<std::string> calls;
    std::vector<std::string> answers;
    find_ids(Json::parse(body_of(target, conversation({"abcDEF123"}))), calls, answers);
    EXPECT_EQ(calls, std::vector<std::string>{"abcDEF123"});
  }
}

// The answers to two calls that a stored message has under one id belong to these calls in their order.
TEST(CallIds, OfOneMessageThatRepeatAreAnsweredInOrder) {
  for (const Target& target : targets()) {
    SCOPED_TRACE(target.name);
    Message calling = assistant("");
    calling.tool_calls = {{.id = "same", .name = "roll"}, {.id = "same", .name = "roll"}};
    std::vector<std::string> calls;
    std::vector<std::string> answers;
    const MessageList messages = {user("hi"), calling, tool_result("same", "1"), tool_result("same", "2")};
    find_ids(Json::parse(body_of(target, messages)), calls, answers);
    ASSERT_EQ(calls.size(), 2U);
    EXPECT_NE(calls[0], calls[1]);
    EXPECT_EQ(calls, answers);
  }
}

// A model may call a tool that does not exist, under a name that no provider accepts.
TEST(CallIds, NamesThatNoProviderAcceptsAreReplaced) {
  for (const Target& target : targets()) {
    SCOPED_TRACE(target.name);
    Message calling = assistant("");
    calling.tool_calls = {{.id = "abcDEF123", .name = "roll the dice!"}, {.id = "abcDEF124", .name = ""}};
    const MessageList messages = {user("hi"), calling, tool_result("abcDEF123", "1"), tool_result("abcDEF124", "2")};
    const std::string body = body_of(target, messages);
    EXPECT_NE(body.find("\"roll_the_dice_\""), std::string::npos) << body;
    EXPECT_EQ(body.find("\"name\":\"\""), std::string::npos) << body;
  }
}

}  // namespace
}  // namespace allm::call_ids_test
