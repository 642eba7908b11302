#include "testing/recording/redact_json.hpp"

#include <string>

#include <gtest/gtest.h>

#include "allm/message.hpp"
#include "allm/serialize.hpp"

namespace allm::redact_json_test {
namespace {

Json redacted(const char* text, std::string_view key = {}) {
  Json value = *parse_json(text);
  redact_value(value, key);
  return value;
}
std::string redacted_events(const char* text, std::string_view key = {}) {
  Json events = *parse_json(text);
  redact_events(events, key);
  return *write_json(events);
}

TEST(RedactJson, FindsSecretsInTextsAndKeysAtAnyDepth) {
  EXPECT_EQ(redacted(R"({"a":[{"b":"is sk-123456."}],"sk-abcdef":"01234567","n":1})", "01234567"),
            *parse_json(R"({"a":[{"b":"is [REDACTED]."}],"[REDACTED]":"[REDACTED]","n":1})"));
  EXPECT_EQ(redacted(R"({"sk-abcdef":1,"sk-ghijkl":2,"x":3})"),
            *parse_json(R"({"[REDACTED]":1,"[REDACTED] 2":2,"x":3})"));
  EXPECT_EQ(redacted(R"("sk-123456")"), Json("[REDACTED]"));
  Json deep = "sk-123456";
  for (int i = 0; i < 100'000; ++i) deep = Json::array({std::move(deep)});
  redact_value(deep, {});
  for (int i = 0; i < 100'000; ++i) deep = Json(std::move(deep[0]));
  EXPECT_EQ(deep, "[REDACTED]");
}

TEST(RedactJson, DoesNotChangeTheDataOfImages) {
  for (Image image : {Image{.source = ImageBase64{"AIzaAAAAAAAA"}}, Image{.source = ImageBytes{"\x02\x36\xb3\x04"}}}) {
    image.prompt = "AIzaAAAAAAAA";
    image.metadata = {{"source", {{"type", "base64"}, {"value", "AIzaAAAAAAAA"}}}};
    Json value = to_json_value(image);
    redact_value(value, {});
    const auto read = from_json_value<Image>(value);
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->source, image.source);
    EXPECT_EQ(read->prompt, "[REDACTED]");
    EXPECT_EQ(read->metadata["source"]["value"], "[REDACTED]");
  }
  Json link = to_json_value(Image{.source = ImageUrl{"https://x/?key=AIzaAAAAAAAA"}});
  redact_value(link, {});
  EXPECT_EQ(link["data"]["source"]["value"], "https://x/?key=[REDACTED]");
}

TEST(RedactJson, DoesNotChangeTheDataOfFilesAndAudio) {
  const File file{.source = MediaBase64{"AIzaAAAAAAAA"}, .name = "AIzaAAAAAAAA"};
  Json value = to_json_value(file);
  redact_value(value, {});
  EXPECT_EQ(from_json_value<File>(value)->source, file.source);
  EXPECT_EQ(from_json_value<File>(value)->name, "[REDACTED]");
  const Audio audio{.source = MediaBase64{"AIzaAAAAAAAA"}};
  value = to_json_value(audio);
  redact_value(value, {});
  EXPECT_EQ(from_json_value<Audio>(value), audio);
}

TEST(RedactJson, ReasoningDeltasAreRedactedAsOneText) {
  EXPECT_EQ(redacted_events(R"([{"type":"reasoning_delta","delta":"a sk-12"},
                                {"type":"reasoning_delta","delta":"3456 b"}])"),
            R"([{"type":"reasoning_delta","delta":"a [REDACTED]"},{"type":"reasoning_delta","delta":" b"}])");
}

TEST(RedactJson, DeltasAreRedactedAsOneText) {
  EXPECT_EQ(redacted_events(R"([{"type":"text_delta","delta":"sk-12"},
                                {"type":"tool_call_delta","id":"c0","arguments_delta":"\"sk-"},
                                {"type":"tool_call_delta","id":"c1","arguments_delta":"-sk-"},
                                {"type":"text_delta","id":"1","delta":"other"},
                                {"type":"text_delta","delta":"3456 ri"},
                                {"type":"tool_call_delta","id":"c0","arguments_delta":"abcdef\""},
                                {"type":"text_delta","delta":"sk-averse"}])"),
            R"([{"type":"text_delta","delta":"[REDACTED]"},)"
            R"({"type":"tool_call_delta","id":"c0","arguments_delta":"\"[REDACTED]"},)"
            R"({"type":"tool_call_delta","id":"c1","arguments_delta":"-sk-"},)"
            R"({"type":"text_delta","id":"1","delta":"other"},)"
            R"({"type":"text_delta","delta":" ri"},)"
            R"({"type":"tool_call_delta","id":"c0","arguments_delta":"\""},)"
            R"({"type":"text_delta","delta":"sk-averse"}])");
}

TEST(RedactJson, StringsOfRawChunksAreRedactedAsOneText) {
  EXPECT_EQ(redacted_events(R"([{"type":"raw_chunk","chunk":{"choices":[{"text":"a 0123"},{"text":"b"}]}},
                                {"type":"raw_chunk","chunk":{"choices":[{"text":"4567 c"}]}},
                                {"type":"raw_chunk","chunk":"01234567"},
                                {"type":"raw_chunk","chunk":null}])",
                            "01234567"),
            R"([{"type":"raw_chunk","chunk":{"choices":[{"text":"a [REDACTED]"},{"text":"b"}]}},)"
            R"({"type":"raw_chunk","chunk":{"choices":[{"text":" c"}]}},)"
            R"({"type":"raw_chunk","chunk":"[REDACTED]"},)"
            R"({"type":"raw_chunk","chunk":null}])");
}

TEST(RedactJson, OtherEventsAreRedactedOneByOne) {
  EXPECT_EQ(redacted_events(R"([{"type":"text_completed","text":"sk-123456"},
                                {"type":"error","error":{"message":"sk-123456"}}])"),
            R"([{"type":"text_completed","text":"[REDACTED]"},{"type":"error","error":{"message":"[REDACTED]"}}])");
  EXPECT_EQ(redacted_events("[]"), "[]");
}

}  // namespace
}  // namespace allm::redact_json_test
