#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "allm/executor.hpp"

#include "tools/result_content.hpp"

namespace allm::encoder_test {
namespace {

std::string failure_text(ToolFailure failure) { return JsonToolResultEncoder().encode_failure(failure); }

TEST(JsonToolResultEncoder, WritesTextAsItIsAndTheRestAsCompactJson) {
  JsonToolResultEncoder encoder;
  EXPECT_EQ(encoder.encode("text"), "text");
  EXPECT_EQ(encoder.encode(""), "");
  EXPECT_EQ(encoder.encode("{\"a\": 1}"), "{\"a\": 1}");
  EXPECT_EQ(encoder.encode(nullptr), "null");
  EXPECT_EQ(encoder.encode(-1.5), "-1.5");
  EXPECT_EQ(encoder.encode(true), "true");
  EXPECT_EQ(encoder.encode({{"b", "ü/"}, {"a", Json::array({1, 2})}}), "{\"b\":\"ü/\",\"a\":[1,2]}");
}

TEST(JsonToolResultEncoder, RefusesValuesThatJsonCannotExpress) {
  JsonToolResultEncoder encoder;
  EXPECT_FALSE(encoder.encode("\xc3").has_value());
  EXPECT_FALSE(encoder.encode({{"a", "\xff"}}).has_value());
  EXPECT_FALSE(encoder.encode({{"a", std::numeric_limits<double>::quiet_NaN()}}).has_value());
  EXPECT_FALSE(encoder.encode(Json::binary({1, 2})).has_value());
}

TEST(JsonToolResultEncoder, DistinguishesFailuresOfHandlersFromTheRunners) {
  EXPECT_EQ(failure_text({Json("no")}), R"({"error":"no"})");
  EXPECT_EQ(failure_text({Json(nullptr)}), R"({"error":null})");
  EXPECT_EQ(failure_text({Json({{"code", 1}})}), R"({"error":{"code":1}})");
  EXPECT_EQ(failure_text({Error(ToolError{.reason = ToolError::Reason::timeout}, "too slow")}),
            R"({"error":"too slow","reason":"timeout"})");
}

TEST(JsonToolResultEncoder, CanWriteEveryFailure) {
  const std::string broken_text = failure_text({Json("caf\xc3")});
  ASSERT_TRUE(Json::accept(broken_text));
  EXPECT_NE(broken_text.find("caf"), std::string::npos);
  EXPECT_TRUE(Json::accept(failure_text({Json({{"a", std::numeric_limits<double>::infinity()}})})));
  const std::string broken_message = failure_text({Error(ToolError{.reason = ToolError::Reason::timeout}, "a\xff z")});
  ASSERT_TRUE(Json::accept(broken_message));
  EXPECT_EQ(Json::parse(broken_message).at("reason"), "timeout");
}

TEST(ContentOfParts, TextsBecomeOneText) {
  EXPECT_EQ(content_of_parts({TextPart{.text = "one"}, TextPart{.text = "two"}}), Content("one\ntwo"));
}

TEST(ContentOfParts, MediaAreKeptAsParts) {
  const std::vector<Part> parts = {TextPart{.text = "see"}, AudioPart{.audio = {.source = MediaUrl{"u"}}}};
  EXPECT_EQ(content_of_parts(parts), Content(parts));
}

TEST(ContentOfParts, PartsThatNoMessageCanHaveAreRefused) {
  EXPECT_FALSE(content_of_parts({TextPart{.text = "\xff"}}).has_value());
  EXPECT_FALSE(content_of_parts({UnknownPart{5}}).has_value());
}

}  // namespace
}  // namespace allm::encoder_test
