#include "providers/openai/tool_slots.hpp"

#include <string_view>

#include <gtest/gtest.h>

namespace allm::tool_slots_test {
namespace {

TEST(ObjectScan, FindsTheEndOfAnObjectForEverySplit) {
  const auto is_whole = [](std::string_view text) {
    openai_wire::ObjectScan at_once;
    at_once.add(text);
    openai_wire::ObjectScan in_bytes;
    for (const char& c : text) in_bytes.add({&c, 1});
    EXPECT_EQ(at_once.is_whole(), in_bytes.is_whole()) << text;
    return at_once.is_whole();
  };
  for (const char* whole : {"{}", " {\"a\":[1,{}]} \n", R"({"a":"}\"}{"})"}) EXPECT_TRUE(is_whole(whole)) << whole;
  for (const char* not_whole : {"", "  ", "{", "{\"a\":{}", R"({"a":"}\"})", "[]", "7", "{} x", "{}{}"}) {
    EXPECT_FALSE(is_whole(not_whole)) << not_whole;
  }
}

}  // namespace
}  // namespace allm::tool_slots_test
