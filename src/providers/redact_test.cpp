#include "providers/redact.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace allm::redact_test {
namespace {

TEST(Redact, RemovesTextThatLooksLikeAKeyOfAnyProvider) {
  EXPECT_EQ(redact("key sk-proj-abc_DEF-123."), "key [REDACTED].");
  EXPECT_EQ(redact("rk-123456 org-ABCDEF123456"), "[REDACTED] [REDACTED]");
  EXPECT_EQ(redact("xsk-ant-api03-abcdef"), "x[REDACTED]");
  EXPECT_EQ(redact("AIzaSyA-123456, ya29.a0Af_H.6S"), "[REDACTED], [REDACTED]");
}

TEST(Redact, RemovesKeysThatAreMaskedInTheMiddle) {
  EXPECT_EQ(redact("provided: sk-abc***********wxyz."), "provided: [REDACTED].");
}

TEST(Redact, KeepsOrdinaryWords) {
  for (const char* text :
       {"task-force-alpha", "sk-12345", "the org-chart", "AIza1", "ya29.", "risk-averse people", ""}) {
    EXPECT_EQ(redact(text), text);
  }
}

TEST(Redact, RemovesEveryOccurrenceOfTheKeyInUse) {
  EXPECT_EQ(redact("a 0123456789abcdef b 0123456789abcdef", "0123456789abcdef"), "a [REDACTED] b [REDACTED]");
  EXPECT_EQ(redact("0123456701234567", "01234567"), "[REDACTED][REDACTED]");
  EXPECT_EQ(redact("sk-abcdef01234567 01234567", "01234567"), "[REDACTED] [REDACTED]");
}

TEST(Redact, ChangesNothingTheSecondTime) {
  for (const char* text : {"a0123456789abcdefsk-abcdef", "sk-abcdef0123456789abcdef", "[REDACTED]sk-abcdef"}) {
    const std::string once = redact(text, "0123456789abcdef");
    EXPECT_EQ(once.find("abcdef"), std::string::npos) << once;
    EXPECT_EQ(redact(once, "0123456789abcdef"), once);
  }
  EXPECT_EQ(redact("[REDACTED]", "REDACTED"), "[REDACTED]");
}

std::vector<std::string> pieces_of(std::vector<std::string> pieces, std::string_view key = {}) {
  std::vector<std::string*> pointers;
  for (std::string& piece : pieces) pointers.push_back(&piece);
  redact_pieces(pointers, key);
  return pieces;
}

TEST(Redact, FindsSecretsAcrossPieces) {
  using Pieces = std::vector<std::string>;
  EXPECT_EQ(pieces_of({"is s", "k-ab", "", "cdef12", "34 or ", "sk-123456, so"}),
            (Pieces{"is [REDACTED]", "", "", "", " or ", "[REDACTED], so"}));
  EXPECT_EQ(pieces_of({"0123", "4567 0123456", "7 x"}, "01234567"), (Pieces{"[REDACTED]", " [REDACTED]", " x"}));
  EXPECT_EQ(pieces_of({"012345", "670123", "4567"}, "01234567"), (Pieces{"[REDACTED]", "[REDACTED]", ""}));
  EXPECT_EQ(pieces_of({"ri", "sk-averse", " people"}), (Pieces{"ri", "sk-averse", " people"}));
  EXPECT_EQ(pieces_of({}), Pieces{});
}

TEST(WithoutKey, LeavesNoPartOfMoreThanFourCharacters) {
  const std::string key = "mykey-Qx7vJ2mNbR4tLw9ZcE5y";
  const auto cleaned = [&key](const std::string& message) {
    return without_key(Error(AdapterError{.request_id = "req-R4tLw9"}, message, {{"a", message}}, message), key);
  };
  const Error error = cleaned("mykey-: Qx7vJ2mNbR, or x4tLw9x, or ****E5y");
  EXPECT_EQ(error.message(), "mykey-: [REDACTED], or x[REDACTED]x, or ****E5y");
  EXPECT_EQ(error.metadata(), Json({{"a", error.message()}}));
  EXPECT_EQ(error.reported_cause(), error.message());
  EXPECT_EQ(error.get_if<AdapterError>()->request_id, std::nullopt);
  EXPECT_EQ(cleaned(key).message(), "[REDACTED]");

  const Error plain(AdapterError{.request_id = "req-1"}, "nothing", {{"a", 1}});
  EXPECT_EQ(without_key(plain, key), plain);
}

TEST(WithoutValue, RedactsPartsOnlyOfWhatLooksLikeAKey) {
  const auto cleaned = [](const char* value, const char* message) {
    return without_value(Error(AdapterError{}, message), value).message();
  };
  EXPECT_EQ(cleaned("gw-9f8e7d6c5b4a39281706", "bad token 9f8e7d6c5b…"), "bad token [REDACTED]…");
  EXPECT_EQ(cleaned("openai-production", "openai: no route openai-production"), "openai: no route [REDACTED]");
}

TEST(Redact, TreatsShortKeysAsPlaceholders) { EXPECT_EQ(redact("run ollama", "ollama"), "run ollama"); }

}  // namespace
}  // namespace allm::redact_test
