#include "data/surrogates.hpp"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace allm::surrogates_test {
namespace {

const std::string kHigh = half_bytes(0xD83D);
const std::string kLow = half_bytes(0xDE00);
const std::string kReplacement = "\uFFFD";

std::string joined(const std::vector<std::string>& pieces) {
  SurrogateJoiner joiner;
  std::string text;
  for (const std::string& piece : pieces) text += joiner.add(piece);
  return text.append(joiner.end());
}

TEST(SurrogateJoiner, JoinsHalvesOfTwoPieces) {
  EXPECT_EQ(joined({"a" + kHigh, kLow + "b"}), "a😀b");
  EXPECT_EQ(joined({kHigh, "", kLow + kHigh, kLow}), "😀😀");
}

TEST(SurrogateJoiner, ALoneHalfIsReplaced) {
  EXPECT_EQ(joined({"a" + kHigh}), "a" + kReplacement);
  EXPECT_EQ(joined({"a" + kHigh, "b"}), "a" + kReplacement + "b");
  EXPECT_EQ(joined({kHigh, kHigh, kLow}), kReplacement + "😀");
  EXPECT_EQ(joined({kLow, "b" + kHigh, kLow, kLow}), kReplacement + "b😀" + kReplacement);
}

TEST(SurrogateJoiner, TextWithoutHalvesIsNotCopied) {
  SurrogateJoiner joiner;
  for (const std::string text : {"", "a", "ab", "text", "😀", "\uD7FF", "\uE000", "한국"}) {
    const std::string_view shown = joiner.add(text);
    EXPECT_EQ(shown, text);
    EXPECT_EQ(shown.data(), text.data());
  }
}

TEST(SurrogateJoiner, ADroppedHalfIsForgotten) {
  SurrogateJoiner joiner;
  EXPECT_EQ(joiner.add("a" + kHigh), "a");
  joiner.drop();
  EXPECT_EQ(joiner.add("b"), "b");
  EXPECT_EQ(joiner.end(), "");
}

TEST(MendSurrogates, LoneHalvesBecomeU_FFFD) {
  EXPECT_FALSE(mend_surrogates(R"({"a":"\ud83d\ude00 \\ud83d \u00e9"})"));
  EXPECT_FALSE(mend_surrogates("no JSON"));
  const auto mended = mend_surrogates(R"({"a":"\uDE00b\ud83d","c":["\ud83d x \ude00","\\\ud83d\n"]})");
  ASSERT_TRUE(mended);
  EXPECT_EQ(mended->text, R"({"a":"\ufffdb\ufffd","c":["\ufffd x \ufffd","\\\ufffd\n"]})");
  EXPECT_EQ(mended->strings, 5U);
  ASSERT_EQ(mended->halves.size(), 2U) << "only those at the start or the end of a string";
  EXPECT_EQ(mended->halves[0].string, 1U);
  EXPECT_EQ(mended->halves[0].half, 0xDE00);
  EXPECT_EQ(mended->halves[1].half, 0xD83D);
}

TEST(MendSurrogates, ATextThatWasCutOffIsNoTrouble) {
  const std::string text = R"({"a":"\ud83d\ude00","b":"\ud83d"})";
  for (std::size_t size = 0; size <= text.size(); ++size) mend_surrogates(std::string_view(text).substr(0, size));
}

TEST(WithoutHalves, ReplacesThem) {
  EXPECT_EQ(without_halves(kLow + "a" + kHigh), kReplacement + "a" + kReplacement);
  EXPECT_EQ(without_halves("😀"), "😀");
  EXPECT_EQ(without_halves(kHigh), kReplacement);
}

// A random text in UTF-16, and its UTF-8 with U+FFFD for every lone half. Splits at random places give the same.
TEST(SurrogateJoiner, AnySplitGivesTheSameText) {
  std::mt19937 random(11);
  for (int run = 0; run < 2000; ++run) {
    std::vector<char16_t> units;
    for (std::size_t size = random() % 12; size > 0; --size) {
      units.push_back(static_cast<char16_t>(std::vector{0xD83D, 0xDE00, 0xDBFF, 0xDC00, 0x61}[random() % 5]));
    }
    std::string whole;
    std::vector<std::string> pieces(1);
    for (std::size_t i = 0; i < units.size(); ++i) {
      // Inside a piece the parser has joined and replaced the halves; only those at its ends are left.
      const bool is_pair = units[i] >= 0xD800 && units[i] < 0xDC00 && i + 1 < units.size() && units[i + 1] >= 0xDC00;
      std::string character = units[i] == 0x61 ? "a" : kReplacement;
      if (is_pair) character = joined({half_bytes(units[i]), half_bytes(units[i + 1])});
      whole += character;
      if (is_pair && random() % 2 == 0) {
        pieces.back() += half_bytes(units[i]);
        for (std::size_t empty = random() % 3; empty > 0; --empty) pieces.emplace_back();
        pieces.push_back(half_bytes(units[i + 1]));
      } else {
        pieces.back() += character;
      }
      if (is_pair) ++i;
      if (random() % 3 == 0) pieces.emplace_back();
    }
    EXPECT_EQ(joined(pieces), whole);
  }
}

}  // namespace
}  // namespace allm::surrogates_test
