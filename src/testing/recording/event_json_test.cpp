// Errors in the JSON of an event have a path. tests/recording_property_test.cpp checks the round trip of all events.
#include "testing/recording/event_json.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace allm::event_json_test {
namespace {

using ::testing::HasSubstr;

TEST(EventJson, HasOneFormForEachKind) {
  const std::vector<std::pair<Event, std::string>> cases = {
      {TextDelta{.delta = "a"}, R"({"type":"text_delta","delta":"a"})"},
      {TextDelta{.id = "0", .delta = "a"}, R"({"type":"text_delta","id":"0","delta":"a"})"},
      {TextCompleted{.text = "a"}, R"({"type":"text_completed","text":"a"})"},
      {ToolCallStarted{.id = "c", .name = "t"}, R"({"type":"tool_call_started","id":"c","name":"t"})"},
      {ToolCallDelta{.id = "c", .arguments_delta = "{"},
       R"({"type":"tool_call_delta","id":"c","arguments_delta":"{"})"},
      {RawChunk{.chunk = {1, nullptr}}, R"({"type":"raw_chunk","chunk":[1,null]})"},
      {RawChunk{}, R"({"type":"raw_chunk","chunk":null})"},
  };
  for (const auto& [event, text] : cases) {
    const auto json = event_to_json(event);
    ASSERT_TRUE(json.has_value());
    EXPECT_EQ(*write_json(*json), text);
    EXPECT_EQ(*event_from_json(*json), event);
  }
}

TEST(EventJson, RefusesEventsThatAModelMustNotProduce) {
  const auto json = event_to_json(ToolHalt{.tool_call_id = "c"});
  ASSERT_FALSE(json.has_value());
  EXPECT_THAT(json.error().message(), HasSubstr("tool_halt"));
}

TEST(EventJson, NamesWhatIsWrongWithAnEvent) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"(7)", "must be an object"},
      {R"({})", "type is missing"},
      {R"({"type":"chat_completed"})", "type is not a kind of event that a model gives"},
      {R"({"type":"text_delta"})", "delta is missing"},
      {R"({"type":"text_delta","delta":1})", "delta must be a text"},
      {R"({"type":"text_delta","id":1,"delta":""})", "id must be a text"},
      {R"({"type":"text_delta","delta":"","more":1})", "more is not a member here: there are type, id, delta"},
      {R"({"type":"message_started"})", "message is missing"},
      {R"({"type":"message_started","message":{"role":"none","content":""}})", "message: "},
      {R"({"type":"tool_call_completed","call":[]})", "call: "},
      {R"({"type":"error","error":{}})", "error: "},
      {R"({"type":"raw_chunk"})", "chunk is missing"},
      {R"({"type":"message_completed","message":{"role":"assistant","content":""},"finish_reason":"x","metadata":{}})",
       "finish_reason must be stop"},
      {R"({"type":"message_completed","message":{"role":"assistant","content":""},"metadata":[]})",
       "metadata must be an object"},
      {R"({"type":"message_completed","message":{"role":"assistant","content":""},"usage":1,"metadata":{}})",
       "usage: "},
  };
  for (const auto& [text, message] : cases) {
    const auto event = event_from_json(*parse_json(text));
    ASSERT_FALSE(event.has_value()) << text;
    EXPECT_TRUE(event.error().is<ValidationError>(ValidationError::Reason::invalid_request));
    EXPECT_THAT(event.error().message(), HasSubstr(message));
  }
  const auto event = event_from_json(*parse_json(R"({"type":"message_started","message":{"content":""}})"));
  EXPECT_EQ(to_string(event.error().get_if<ValidationError>()->errors.at(0).path), "message.role");
}

}  // namespace
}  // namespace allm::event_json_test
