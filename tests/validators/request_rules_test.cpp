// The validators find broken rules: each request here is valid until one thing in it is changed.
#include "tests/validators/request_rules.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace allm::request_rules_test {
namespace {

using testing::ChatRules;
using testing::Problems;

struct Change {
  const char* path;   // a JSON pointer
  const char* value;  // null: the member is removed
};

Json changed(const Json& valid, const Change& change) {
  const Json::json_pointer path(change.path);
  Json body = valid;
  if (change.value != nullptr) {
    body[path] = Json::parse(change.value);
  } else if (body[path.parent_pointer()].is_array()) {
    body[path.parent_pointer()].erase(std::stoul(path.back()));
  } else {
    body[path.parent_pointer()].erase(path.back());
  }
  return body;
}

template <class Check>
void expect_each_refused(const Json& valid, const std::vector<Change>& changes, Check check) {
  EXPECT_EQ(check(valid), Problems{});
  for (const Change& change : changes) {
    const Json body = changed(valid, change);
    EXPECT_NE(check(body), Problems{}) << change.path << " -> " << (change.value ? change.value : "removed");
  }
}

TEST(RequestRules, OfChatCompletions) {
  const Json valid = Json::parse(R"({"model":"m","messages":[
    {"role":"system","content":"s"},
    {"role":"user","content":[{"type":"text","text":"t"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]},
    {"role":"assistant","content":null,"tool_calls":[
      {"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},
      {"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]},
    {"role":"tool","tool_call_id":"b","content":"","name":"f"},{"role":"tool","tool_call_id":"a","content":"1"},
    {"role":"assistant","content":"x"},{"role":"user","content":"y"}]})");
  const std::vector<Change> changes = {
      {"/model", nullptr},
      {"/messages", "[]"},
      {"/messages/1/content/0/text", "\"\""},
      {"/messages/1/content/1/type", "\"input_image\""},
      {"/messages/1/role", "\"function\""},
      {"/messages/2/tool_calls/0/id", "\"b\""},
      {"/messages/2/tool_calls/0/id", "\"12345678901234567890123456789012345678901\""},
      {"/messages/2/tool_calls/0/function/name", "\"a b\""},
      {"/messages/2/tool_calls/0/function/arguments", "\"{\""},
      {"/messages/2/tool_calls", "[]"},
      {"/messages/3", nullptr},
      {"/messages/3/role", "\"user\""},
      {"/messages/3/tool_call_id", "\"c\""},
      {"/messages/4/content", "null"},
      {"/messages/5/content", "\"\""},
      {"/messages/5/thinking", "\"\""},
      {"/messages/6", nullptr},
  };
  ChatRules rules;
  rules.parses_arguments = true;
  expect_each_refused(valid, changes, [&](const Json& body) { return chat_problems(body, rules); });
}

TEST(RequestRules, OfMistral) {
  const Json valid = Json::parse(R"({"model":"m","messages":[{"role":"user","content":"t"},
    {"role":"assistant","content":null,"tool_calls":[{"id":"abcdef123","type":"function","function":{"name":"f","arguments":"{}"}}]},
    {"role":"tool","tool_call_id":"abcdef123","content":"1"},
    {"role":"assistant","content":"x"},{"role":"user","content":"y"}]})");
  const std::vector<Change> changes = {{"/messages/1/tool_calls/0/id", "\"abcdef_23\""},
                                       {"/messages/3", nullptr},
                                       {"/messages/3/reasoning_content", "\"x\""},
                                       {"/stream_options", "{}"}};
  const ChatRules rules{.nine_letter_ids = true, .answer_follows_tools = true, .refuses_unknown_fields = true};
  expect_each_refused(valid, changes, [&](const Json& body) { return chat_problems(body, rules); });
}

TEST(RequestRules, OfResponses) {
  const Json valid = Json::parse(R"({"model":"m","store":false,"input":[
    {"role":"user","content":[{"type":"input_text","text":"t"},{"type":"input_image","image_url":"https://x/y.png"}]},
    {"type":"reasoning","id":"rs","summary":[],"encrypted_content":"x"},
    {"type":"function_call","call_id":"a","name":"f","arguments":"{}"},
    {"type":"function_call_output","call_id":"a","output":"1"},
    {"role":"assistant","content":"x"},{"role":"user","content":"y"}]})");
  const std::vector<Change> changes = {{"/store", "true"},
                                       {"/input/0/content/1/image_url", "{\"url\":\"x\"}"},
                                       {"/input/1/encrypted_content", nullptr},
                                       {"/input/2", nullptr},
                                       {"/input/3", nullptr},
                                       {"/input/3/call_id", "\"b\""},
                                       {"/input/4/content", "\"\""},
                                       {"/input/5", nullptr}};
  expect_each_refused(valid, changes, testing::responses_problems);
}

TEST(RequestRules, OfAnthropic) {
  const Json valid =
      Json::parse(R"({"model":"m","max_tokens":10,"system":"s","tools":[{"name":"f","input_schema":{"type":"object"}}],
    "messages":[{"role":"user","content":"t"},
    {"role":"assistant","content":[{"type":"thinking","thinking":"h","signature":"s"},{"type":"tool_use","id":"a","name":"f","input":{}}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1","is_error":true},{"type":"text","text":"x"}]}]})");
  const std::vector<Change> changes = {{"/max_tokens", nullptr},
                                       {"/tools", nullptr},
                                       {"/messages/0", nullptr},
                                       {"/messages/0/content", "\" \""},
                                       {"/messages/1/content/0/signature", nullptr},
                                       {"/messages/1/content/0/cache_control", "{}"},
                                       {"/messages/1/content/1/id", "\"a:1\""},
                                       {"/messages/1/content/1/input", "\"{}\""},
                                       {"/messages/2/role", "\"assistant\""},
                                       {"/messages/2/content/0/tool_use_id", "\"b\""},
                                       {"/messages/2/content/0", nullptr},
                                       {"/messages/2/content/1/text", "\"\""},
                                       {"/messages/2/name", "\"x\""}};
  expect_each_refused(valid, changes, testing::anthropic_problems);
}

TEST(RequestRules, OfGemini) {
  const Json valid = Json::parse(R"({"contents":[{"role":"user","parts":[{"text":"t"}]},
    {"role":"model","parts":[{"functionCall":{"name":"f","args":{}},"thoughtSignature":"s"},{"functionCall":{"name":"g","args":{}}}]},
    {"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}},{"functionResponse":{"name":"g","response":{}}}]}]})");
  const std::vector<Change> changes = {{"/contents/0", nullptr},
                                       {"/contents/0/parts/0/text", "\"\""},
                                       {"/contents/1/role", "\"user\""},
                                       {"/contents/1/parts/0/thoughtSignature", nullptr},
                                       {"/contents/1/parts/0/functionCall/args", "\"{}\""},
                                       {"/contents/2/parts/1", nullptr},
                                       {"/contents/2/parts/0/functionResponse/name", "\"g\""},
                                       {"/contents/2/parts/0/functionResponse/id", "\"x\""},
                                       {"/contents/2/parts/0/functionResponse/response", "\"x\""},
                                       {"/contents/2", nullptr}};
  expect_each_refused(valid, changes, [](const Json& body) { return testing::gemini_problems(body, true); });
}

}  // namespace
}  // namespace allm::request_rules_test
