#include "schema/pattern.hpp"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "schema/ecma_regex.hpp"

namespace allm::schema_detail::pattern_test {
namespace {

bool matches(std::string_view pattern, std::string_view text) {
  const auto compiled = Pattern::compile(pattern, 8U << 20U);
  EXPECT_TRUE(compiled) << pattern << ": " << (compiled ? "" : compiled.error().message);
  return compiled && compiled->matches(text);
}

std::string message_of(std::string_view pattern, std::size_t max_memory = 8U << 20U) {
  const auto compiled = Pattern::compile(pattern, max_memory);
  return compiled ? "" : compiled.error().message;
}

TEST(Pattern, MatchesAnywhereUnlessAnchored) {
  EXPECT_TRUE(matches("b", "abc"));
  EXPECT_FALSE(matches("^b", "abc"));
  EXPECT_FALSE(matches("^a$", "a\n"));
  EXPECT_TRUE(matches("", ""));
}

TEST(Pattern, DotStopsAtEveryLineEndOfEcma) {
  EXPECT_TRUE(matches("^.$", "é"));
  for (const char* end : {"\n", "\r", "\u2028", "\u2029"}) EXPECT_FALSE(matches("^.$", end));
}

TEST(Pattern, SpaceIsUnicodeAndDigitsAndWordsAreAscii) {
  for (const char* space : {" ", "\t", "\v", "\u00a0", "\ufeff", "\u3000", "\u2003"}) {
    EXPECT_TRUE(matches("^\\s$", space));
    EXPECT_TRUE(matches("^[\\sx]$", space));
    EXPECT_FALSE(matches("^\\S$", space));
    EXPECT_FALSE(matches("^[\\S]$", space));
    EXPECT_FALSE(matches("^[^\\s]$", space));
  }
  EXPECT_TRUE(matches("^[\\S]$", "é"));
  EXPECT_TRUE(matches("^\\d\\w\\D\\W$", "1_é!"));
  EXPECT_FALSE(matches("^\\d$", "\u0967"));
}

TEST(Pattern, UnderstandsEscapesThatRe2Lacks) {
  EXPECT_TRUE(matches("^\\u00e9$", "é"));
  EXPECT_TRUE(matches("^\\u{1F600}$", "😀"));
  EXPECT_TRUE(matches("^\\ud83d\\ude00$", "😀"));
  EXPECT_TRUE(matches("^[\\ud83d\\ude00-\\ud83d\\ude0f]$", "😀"));
  EXPECT_TRUE(matches("^\\cI\\x41\\0$", std::string_view("\tA\0", 3)));
  EXPECT_TRUE(matches("^[\\b]$", "\b"));
  EXPECT_TRUE(matches("^\\/\\-\\_\\@$", "/-_@"));
  EXPECT_TRUE(matches("^(?<year>\\d{4})-(?<month>\\d\\d)$", "2024-05"));
  EXPECT_TRUE(matches("a+?b??c*?", "ac"));
}

TEST(Pattern, UnderstandsUnicodeProperties) {
  EXPECT_TRUE(matches("^\\p{Letter}\\p{L}\\p{gc=Lu}\\p{Script=Greek}\\p{digit}$", "éaÉα७"));
  EXPECT_TRUE(matches("^[\\p{Lu}\\d]+\\P{Lu}\\p{ASCII}[^\\p{ASCII}]$", "A1baé"));
  EXPECT_EQ(message_of("\\p{Emoji}"), "the Unicode property 'Emoji' is not supported");
}

TEST(Pattern, ClassesFollowEcma) {
  EXPECT_FALSE(matches("[]", "a"));
  EXPECT_TRUE(matches("^[^]$", "\n"));
  EXPECT_TRUE(matches("^[[:alpha:]$", "["));
  EXPECT_TRUE(matches("^[a-c-]+$", "b-"));
  EXPECT_TRUE(matches("^[\\w-.]+$", "a-."));
  EXPECT_TRUE(matches("^[&^|(){}*+?.$]+$", "&^|(){}*+?.$"));
  EXPECT_TRUE(matches("^[^-]$", "a"));
}

TEST(Pattern, BracesThatRepeatNothingAreLiteral) {
  EXPECT_TRUE(matches("^a{b}$", "a{b}"));
  EXPECT_TRUE(matches("^x{,2}$", "x{,2}"));
  EXPECT_TRUE(matches("^]}$", "]}"));
}

TEST(Pattern, RepeatsMoreOftenThanRe2Allows) {
  EXPECT_TRUE(matches("^.{1,2048}$", std::string(2048, 'x')));
  EXPECT_FALSE(matches("^.{1,2048}$", std::string(2049, 'x')));
  EXPECT_FALSE(matches("^.{1,2048}$", ""));
  EXPECT_TRUE(matches("^(?:ab){1500}$", [] {
    std::string text;
    for (int i = 0; i < 1500; ++i) text += "ab";
    return text;
  }()));
  EXPECT_TRUE(matches("^[ab]{1200,}c$", std::string(1300, 'a') + "c"));
  EXPECT_FALSE(matches("^[ab]{1200,}c$", std::string(1199, 'a') + "c"));
}

TEST(Pattern, NamesUnsupportedSyntax) {
  EXPECT_EQ(message_of("a(?=b)"), "lookahead is not supported");
  EXPECT_EQ(message_of("^(?!x).*$"), "lookahead is not supported");
  EXPECT_EQ(message_of("(?<=a)b"), "lookbehind is not supported");
  EXPECT_EQ(message_of("(?<!a)b"), "lookbehind is not supported");
  EXPECT_EQ(message_of("(a)\\1"), "backreferences are not supported");
  EXPECT_EQ(message_of("(?<n>a)\\k<n>"), "backreferences are not supported");
  EXPECT_EQ(message_of("a\\Z"), "unknown escape \\Z");
  EXPECT_EQ(message_of("a\\"), "it ends with a backslash");
  EXPECT_EQ(message_of("[a"), "a '[' has no end");
  EXPECT_EQ(message_of("a)"), "it has an unmatched ')'");
  EXPECT_EQ(message_of("\\ud800"), "an unpaired surrogate cannot occur in text");
  EXPECT_NE(message_of("(a"), "");
  EXPECT_NE(message_of("*a"), "");
  EXPECT_NE(message_of("[b-a]"), "");
}

TEST(Pattern, LargePatternsAreRefusedAndNotCompiled) {
  EXPECT_NE(message_of("((a{900}){900}){900}"), "");
  EXPECT_NE(message_of("a{4000000000}"), "");
  EXPECT_NE(message_of("((((.{2000}){2000}){2000}){2000}){2000}"), "");
  EXPECT_NE(message_of("\\p{L}{900}", 1U << 16U), "");
  EXPECT_NE(message_of(std::string(300'000, 'a')), "");
}

}  // namespace
}  // namespace allm::schema_detail::pattern_test
