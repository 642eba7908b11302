#include "providers/redact.hpp"

#include <gtest/gtest.h>

namespace allm {
namespace {

TEST(Redact, TakesOutWhatLooksLikeAKeyOfAnyProvider) {
  EXPECT_EQ(redact("key sk-proj-abc_DEF-123."), "key [REDACTED].");
  EXPECT_EQ(redact("rk-123456 org-ABCDEF123456"), "[REDACTED] [REDACTED]");
  EXPECT_EQ(redact("xsk-ant-api03-abcdef"), "x[REDACTED]");
  EXPECT_EQ(redact("AIzaSyA-123456, ya29.a0Af_H.6S"), "[REDACTED], [REDACTED]");
}

TEST(Redact, TakesOutKeysThatAreMaskedInTheMiddle) {
  EXPECT_EQ(redact("provided: sk-abc***********wxyz."), "provided: [REDACTED].");
}

TEST(Redact, LeavesOrdinaryWordsAlone) {
  for (const char* text :
       {"task-force-alpha", "sk-12345", "the org-chart", "AIza1", "ya29.", "risk-averse people", ""}) {
    EXPECT_EQ(redact(text), text);
  }
}

TEST(Redact, TakesOutEveryOccurrenceOfTheKeyInUse) {
  EXPECT_EQ(redact("a 0123456789abcdef b 0123456789abcdef", "0123456789abcdef"), "a [REDACTED] b [REDACTED]");
  EXPECT_EQ(redact("0123456701234567", "01234567"), "[REDACTED][REDACTED]");
  EXPECT_EQ(redact("sk-abcdef01234567 01234567", "01234567"), "[REDACTED] [REDACTED]");
}

TEST(Redact, TakesShortKeysForPlaceholders) { EXPECT_EQ(redact("run ollama", "ollama"), "run ollama"); }

}  // namespace
}  // namespace allm
