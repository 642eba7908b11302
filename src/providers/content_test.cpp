#include "providers/content.hpp"

#include <gtest/gtest.h>

#include "data/base64.hpp"
#include "providers/provider_json.hpp"

namespace allm::content_test {
namespace {

constexpr ContentRules kImages = {.provider = "test", .user = {.images = true}};

Message with_image(Image image, Role role = Role::user) {
  return {.role = role, .content = std::vector<Part>{TextPart{"look"}, ImagePart{.image = std::move(image)}}};
}

FieldError only_error(const Message& message) {
  const auto images = sendable_media({user("first"), message}, kImages);
  if (images) return {{}, "none"};
  const auto* error = images.error().get_if<ValidationError>();
  EXPECT_EQ(error->reason, ValidationError::Reason::invalid_message);
  EXPECT_EQ(error->errors.size(), 1U);
  return error->errors.front();
}

TEST(Content, TextsAreJoinedByNewlines) {
  EXPECT_EQ(joined_text("a"), "a");
  EXPECT_EQ(joined_text(std::vector<Part>{TextPart{"a"}, TextPart{""}, TextPart{"b"}}), "a\n\nb");
  EXPECT_EQ(joined_text(std::vector<Part>{}), "");
}

TEST(Content, ImagesOfAllSourcesCanBeSent) {
  const auto images = sendable_media({with_image({.source = ImageBytes{"abc"}, .mime_type = "image/PNG"}),
                                      with_image({.source = ImageBase64{"YWJj"}, .mime_type = "image/gif"}),
                                      with_image({.source = ImageUrl{"https://x.test/a"}})},
                                     kImages);
  ASSERT_TRUE(images.has_value());
  ASSERT_EQ(images->size(), 3U);
  EXPECT_EQ((*images)[0].uri(), "data:image/png;base64,YWJj");
  EXPECT_EQ((*images)[1].uri(), "data:image/gif;base64,YWJj");
  EXPECT_EQ((*images)[2].uri(), "https://x.test/a");
}

TEST(Content, InvalidImagesAreReported) {
  const Path place = {std::string("content"), std::int64_t{1}, std::int64_t{1}};
  const FieldError format = only_error(with_image({.source = ImageBytes{"a"}, .mime_type = "image/tiff"}));
  EXPECT_EQ(format, (FieldError{place, "unsupported_image_format"}));
  EXPECT_EQ(only_error(with_image({.source = ImageBytes{"a"}})).reason, "missing_mime_type");
  EXPECT_EQ(only_error(with_image({.source = ImageBase64{"?"}, .mime_type = "image/png"})).reason,
            "unresolvable_image");
  EXPECT_EQ(only_error(with_image(image_from_file("/no/such.png"))).reason, "unresolvable_image");
  const std::string large(20U * 1024 * 1024 + 1, 'x');
  EXPECT_EQ(only_error(with_image({.source = ImageBytes{large}, .mime_type = "image/png"})).reason, "image_too_large");
  EXPECT_EQ(only_error(with_image({.source = ImageBase64{base64_encode(large)}, .mime_type = "image/png"})).reason,
            "image_too_large");
  const std::string largest(20U * 1024 * 1024, 'x');
  EXPECT_EQ(only_error(with_image({.source = ImageBytes{largest}, .mime_type = "image/png"})).reason, "none");
}

TEST(Content, AnImageInASystemMessageIsAnError) {
  const FieldError error = only_error(with_image({.source = ImageUrl{"https://x.test"}}, Role::system));
  EXPECT_EQ(error.reason, "image_in_system_message");
  EXPECT_EQ(to_string(error.path), "messages[1].content");
}

TEST(ProviderJson, TheLastOfRepeatedKeysIsUsed) {
  EXPECT_EQ(parse_provider_json(R"({"a":1,"b":2,"a":3})"), Json({{"a", 3}, {"b", 2}}));
  EXPECT_EQ(parse_provider_json(R"({"a":)"), std::nullopt);
  EXPECT_EQ(parse_provider_json(std::string(200, '[') + std::string(200, ']')), std::nullopt);
}

TEST(ProviderJson, IntegersMayBeWrittenAsDoubles) {
  const Json value = {{"a", 2.0}, {"b", 2.5}, {"c", "2"}, {"d", 18446744073709551615U}, {"e", -3}};
  EXPECT_EQ(integer_member(value, "a"), 2);
  EXPECT_EQ(integer_member(value, "b"), std::nullopt);
  EXPECT_EQ(integer_member(value, "c"), std::nullopt);
  EXPECT_EQ(integer_member(value, "d"), std::nullopt);
  EXPECT_EQ(integer_member(value, "e"), -3);
}

TEST(ProviderJson, ArgumentsKeepTheirText) {
  CallMeter meter;
  const ToolCall call = tool_call_from_text("i", "n", "{ \"a\": 1 }", meter);
  EXPECT_EQ(call.arguments, Json({{"a", 1}}));
  EXPECT_EQ(call.raw_arguments, "{ \"a\": 1 }");
  for (const char* text : {"", "{", "[1]", "null", R"({"a":1,"a":2})"}) {
    EXPECT_EQ(tool_call_from_text("i", "n", text, meter).arguments, Json::object()) << text;
    EXPECT_EQ(tool_call_from_text("i", "n", text, meter).raw_arguments, text);
  }
}

}  // namespace
}  // namespace allm::content_test
