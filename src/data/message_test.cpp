#include "allm/message.hpp"

#include <gtest/gtest.h>

namespace allm::message_test {
namespace {

TEST(MessageTest, HelpersSetRoleAndContent) {
  EXPECT_EQ(system("a").role, Role::system);
  EXPECT_EQ(user("a").role, Role::user);
  EXPECT_EQ(assistant("a").role, Role::assistant);
  const Message result = tool_result("c0", "{}");
  EXPECT_EQ(result.role, Role::tool);
  EXPECT_EQ(result.tool_call_id, "c0");
  EXPECT_EQ(result.text(), "{}");
  EXPECT_EQ(result.metadata, Json::object());
}

TEST(MessageTest, TextJoinsTextParts) {
  EXPECT_EQ(user("hi").text(), "hi");
  const std::vector<Part> parts = {TextPart{.text = "a"}, ImagePart{.image = {.source = ImageUrl{"u"}}},
                                   UnknownPart{{{"type", "sound"}}}, TextPart{.text = "b"}};
  EXPECT_EQ(user(parts).text(), "ab");
  EXPECT_EQ(user(std::vector<Part>()).text(), "");
}

TEST(MessageTest, NamesAreThoseOfTheJsonForm) {
  EXPECT_EQ(to_string(Role::assistant), "assistant");
  EXPECT_EQ(to_string(Role::tool), "tool");
  EXPECT_EQ(to_string(ImageDetail::automatic), "auto");
  EXPECT_EQ(to_string(ImageDetail::high), "high");
}

}  // namespace
}  // namespace allm::message_test
