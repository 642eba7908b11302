#include <gtest/gtest.h>

#include "allm/validate.hpp"

namespace allm::plain_messages_test {
namespace {

using Errors = std::vector<FieldError>;

Result<std::vector<Message>> read(const char* json) { return messages_from_json(Json::parse(json)); }

Errors errors_of(const char* json) {
  const auto result = read(json);
  if (result.has_value()) return {};
  EXPECT_TRUE(result.error().is<ValidationError>(ValidationError::Reason::invalid_thread));
  return result.error().get_if<ValidationError>()->errors;
}

TEST(PlainMessagesTest, ReadsConversationsAsPeopleWriteThem) {
  const auto messages = read(R"(["hi", {"role": "assistant", "content": "hello"},
    {"role": "tool", "tool_call_id": "c0", "content": "{}", "name": "n", "metadata": {"k": 1}}])");
  ASSERT_TRUE(messages.has_value()) << messages.error().message();
  Message result = tool_result("c0", "{}");
  result.name = "n";
  result.metadata = {{"k", 1}};
  EXPECT_EQ(*messages, (std::vector<Message>{user("hi"), assistant("hello"), result}));
  EXPECT_EQ(read("[]"), std::vector<Message>());
}

TEST(PlainMessagesTest, NullMeansLeftOut) {
  EXPECT_EQ(
      read(R"([{"role":"user","content":"a","name":null,"tool_call_id":null,"metadata":null,"tool_calls":null}])"),
      std::vector<Message>{user("a")});
}

TEST(PlainMessagesTest, ReportsEveryErrorInMessageAndRuleOrder) {
  EXPECT_EQ(errors_of(R"([{"role": "wizard", "content": null}, "fine", {"role": "tool", "content": "x"}])"),
            (Errors{{{"messages", 0, "role"}, "unknown"},
                    {{"messages", 0, "content"}, "invalid_type"},
                    {{"messages", 2, "tool_call_id"}, "required"}}));
  EXPECT_EQ(errors_of(R"([{"role": "user", "content": 5}])"), (Errors{{{"messages", 0, "content"}, "invalid_type"}}));
  EXPECT_EQ(errors_of(R"([{}])"),
            (Errors{{{"messages", 0, "role"}, "unknown"}, {{"messages", 0, "content"}, "invalid_type"}}));
  EXPECT_EQ(errors_of(R"([{"role": 1, "content": {}}])"),
            (Errors{{{"messages", 0, "role"}, "unknown"}, {{"messages", 0, "content"}, "invalid_type"}}));
}

TEST(PlainMessagesTest, ThingsThatAreNoMessageOrList) {
  EXPECT_EQ(errors_of("[5, null]"), (Errors{{{"messages", 0}, "invalid_type"}, {{"messages", 1}, "invalid_type"}}));
  EXPECT_EQ(errors_of("{}"), (Errors{{{"messages"}, "invalid_type"}}));
  EXPECT_EQ(errors_of(R"("hi")"), (Errors{{{"messages"}, "invalid_type"}}));
  EXPECT_EQ(errors_of("null"), (Errors{{{"messages"}, "invalid_type"}}));
}

TEST(PlainMessagesTest, OtherFieldsOfTheWrongTypeAndUnknownOnes) {
  EXPECT_EQ(errors_of(R"([{"role":"tool","content":[5],"tool_call_id":7,"name":[],"metadata":"m","tool_calls":{},
                           "colour":"red"}])"),
            (Errors{{{"messages", 0, "content"}, "invalid_part_type"},
                    {{"messages", 0, "tool_call_id"}, "invalid_type"},
                    {{"messages", 0, "name"}, "invalid_type"},
                    {{"messages", 0, "metadata"}, "invalid_type"},
                    {{"messages", 0, "tool_calls"}, "invalid_type"},
                    {{"messages", 0, "colour"}, "unknown_field"}}));
}

TEST(PlainMessagesTest, TheCallerChoosesTheReason) {
  const auto result = messages_from_json(Json(5), ValidationError::Reason::invalid_session_input);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().reason(), "invalid_session_input");
  EXPECT_EQ(result.error().message(), "invalid session input: messages must be a list of messages");
}

TEST(PlainMessagesTest, ReadsPlainParts) {
  const auto messages = read(R"([{"role":"user","content":[
    {"type":"text","text":"look"},
    {"type":"image","url":"https://example.com/a.png","detail":"low"},
    {"type":"image","base64":"YWI=","mime_type":"image/png"},
    {"type":"image","file":"a.gif"},
    {"type":"file","file":"notes/a.pdf"},
    {"type":"file","file_id":"file-1","name":"b.pdf","metadata":{"k":1}},
    {"type":"audio","base64":"YWI=","mime_type":"audio/wav"},
    {"type":"audio","url":"https://example.com/a.mp3"}]}])");
  ASSERT_TRUE(messages.has_value()) << messages.error().message();
  const std::vector<Part> parts = {
      TextPart{.text = "look"},
      ImagePart{.image = {.source = ImageUrl{"https://example.com/a.png"}}, .detail = ImageDetail::low},
      ImagePart{.image = {.source = ImageBase64{"YWI="}, .mime_type = "image/png"}},
      ImagePart{.image = {.source = ImageFile{"a.gif"}, .mime_type = "image/gif"}},
      FilePart{.file = {.source = MediaPath{"notes/a.pdf"}, .mime_type = "application/pdf", .name = "a.pdf"}},
      FilePart{.file = {.source = MediaId{"file-1"}, .name = "b.pdf"}, .metadata = {{"k", 1}}},
      AudioPart{.audio = {.source = MediaBase64{"YWI="}, .mime_type = "audio/wav"}},
      AudioPart{.audio = {.source = MediaUrl{"https://example.com/a.mp3"}}}};
  EXPECT_EQ(*messages, std::vector<Message>{user(parts)});
}

TEST(PlainMessagesTest, ReportsBrokenParts) {
  EXPECT_EQ(errors_of(R"([{"role":"user","content":[
    {"type":"text"}, {"type":"text","text":1}, {"type":"image"}, {"type":"image","url":"u","file":"f"},
    {"type":"image","base64":"YWI="}, {"type":"image","url":"u","detail":"huge","x":1}]}])"),
            (Errors{{{"messages", 0, "content", 0, "text"}, "required"},
                    {{"messages", 0, "content", 1, "text"}, "invalid_type"},
                    {{"messages", 0, "content", 2}, "one_source_required"},
                    {{"messages", 0, "content", 3}, "one_source_required"},
                    {{"messages", 0, "content", 4, "mime_type"}, "required"},
                    {{"messages", 0, "content", 5, "detail"}, "unknown"},
                    {{"messages", 0, "content", 5, "x"}, "unknown_field"}}));
  for (const char* part : {"5", "\"a\"", "null", "{}", R"({"type":"sound"})", R"({"text":"a"})"}) {
    const std::string json = std::string(R"([{"role":"user","content":[)") + part + "]}]";
    EXPECT_EQ(errors_of(json.c_str()), (Errors{{{"messages", 0, "content"}, "invalid_part_type"}})) << part;
  }
}

TEST(PlainMessagesTest, ReportsBrokenDocumentsAndAudio) {
  EXPECT_EQ(errors_of(R"([{"role":"user","content":[
    {"type":"file"}, {"type":"file","file_id":"a","url":"u"}, {"type":"file","base64":"YWI=","detail":"low"},
    {"type":"audio","file_id":"a"}, {"type":"audio","url":1}]}])"),
            (Errors{{{"messages", 0, "content", 0}, "one_source_required"},
                    {{"messages", 0, "content", 1}, "one_source_required"},
                    {{"messages", 0, "content", 2, "mime_type"}, "required"},
                    {{"messages", 0, "content", 2, "detail"}, "unknown_field"},
                    {{"messages", 0, "content", 3}, "one_source_required"},
                    {{"messages", 0, "content", 3, "file_id"}, "unknown_field"},
                    {{"messages", 0, "content", 4, "url"}, "invalid_type"},
                    {{"messages", 0, "content", 4}, "one_source_required"}}));
}

TEST(PlainMessagesTest, ReadsTaggedPartsAndMessages) {
  const auto messages = read(R"([
    {"role":"user","content":[{"__type__":"ALLM.TextPart","data":{"text":"a","metadata":{}}}]},
    {"__type__":"ALLM.Message","data":{"role":"user","content":"b","name":null,"tool_call_id":null,"metadata":{}}}])");
  ASSERT_TRUE(messages.has_value()) << messages.error().message();
  EXPECT_EQ(*messages, (std::vector<Message>{user(std::vector<Part>{TextPart{.text = "a"}}), user("b")}));
  EXPECT_EQ(errors_of(R"([{"__type__":"ALLM.Message","data":{"role":"tool","content":"b"}}])"),
            (Errors{{{"messages", 0, "tool_call_id"}, "required"}}));
}

TEST(PlainMessagesTest, ReadsToolCallsFromBothPlaces) {
  const std::vector<ToolCall> calls = {
      {.id = "c0", .name = "t", .arguments = {{"a", 1}}, .raw_arguments = R"({"a":1})"}};
  const char* plain = R"({"id":"c0","name":"t","arguments":{"a":1},"raw_arguments":"{\"a\":1}"})";
  const std::string tagged = std::string(R"({"__type__":"ALLM.ToolCall","data":)") + plain + "}";
  for (const std::string& call : {std::string(plain), tagged}) {
    const std::string in_metadata =
        R"([{"role":"assistant","content":"","metadata":{"finish_reason":"tool_calls","tool_calls":[)" + call + "]}}]";
    const auto hydrated = read(in_metadata.c_str());
    ASSERT_TRUE(hydrated.has_value()) << hydrated.error().message();
    EXPECT_EQ(hydrated->front().tool_calls, calls);
    EXPECT_EQ(hydrated->front().metadata, Json({{"finish_reason", "tool_calls"}}));
    const std::string direct = R"([{"role":"assistant","content":"","tool_calls":[)" + call + "]}]";
    const auto read_directly = read(direct.c_str());
    ASSERT_TRUE(read_directly.has_value()) << read_directly.error().message();
    EXPECT_EQ(read_directly->front().tool_calls, calls);
  }
}

TEST(PlainMessagesTest, ReportsBrokenToolCalls) {
  EXPECT_EQ(errors_of(R"([{"role":"assistant","content":"","tool_calls":[5,{"id":"a","name":"t","arguments":7}]}])"),
            (Errors{{{"messages", 0, "tool_calls", 0}, "invalid_type"},
                    {{"messages", 0, "tool_calls", 1, "arguments"}, "invalid_type"}}));
  EXPECT_EQ(errors_of(R"([{"role":"assistant","content":"","tool_calls":[{"id":"","name":""}]}])"),
            (Errors{{{"messages", 0, "tool_calls", 0, "id"}, "required"},
                    {{"messages", 0, "tool_calls", 0, "name"}, "required"}}));
  EXPECT_EQ(errors_of(R"([{"role":"assistant","content":"","tool_calls":[{"name":"t"},{"id":"a"}],
                           "metadata":{"tool_calls":5}}])"),
            (Errors{{{"messages", 0, "metadata", "tool_calls"}, "invalid_type"},
                    {{"messages", 0, "tool_calls", 0, "id"}, "required"},
                    {{"messages", 0, "tool_calls", 1, "name"}, "required"}}));
  EXPECT_EQ(errors_of(R"([{"role":"assistant","content":"","tool_calls":[{"id":"a","name":"t"}],
                           "metadata":{"tool_calls":[{"id":"a","name":"t"}]}}])"),
            (Errors{{{"messages", 0, "tool_calls"}, "given_twice"}}));
}

TEST(PlainMessagesTest, TextThatIsNotUtf8IsRefused) {
  const auto result = messages_from_json(Json::array({"\xff"}));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().get_if<ValidationError>()->errors, (Errors{{{"messages", 0, "content"}, "invalid_utf8"}}));
}

}  // namespace
}  // namespace allm::plain_messages_test
