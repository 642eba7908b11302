#include "http/sse_parser.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "tests/cases.hpp"

namespace allm::sse_parser_test {
namespace {

const int kCasesSet = testing::set_property_cases(100);

struct Seen {
  std::string event;
  std::string data;
  std::string id;
  bool operator==(const Seen&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Seen& seen) {
  return out << "{" << seen.event << "|" << seen.data << "|" << seen.id << "}";
}

struct Outcome {
  std::vector<Seen> events;
  std::vector<Seen> at_end;
  std::string stray;
  std::optional<std::int64_t> retry_ms;
  bool too_large = false;
  bool operator==(const Outcome&) const = default;
};

Seen copied(const SseEvent& event) {
  // The padding must be readable; a sanitizer reports if it is not.
  std::string padding(event.data.data() + event.data.size(), kSsePadding);
  EXPECT_EQ(padding.size(), kSsePadding);
  return {std::string(event.event), std::string(event.data), std::string(event.id)};
}

// Feeds pieces of the sizes that `next_size` gives, and collects everything.
template <class NextSize>
Outcome parsed(std::string_view bytes, NextSize next_size, SseLimits limits = {}) {
  SseParser parser(limits);
  Outcome outcome;
  while (!bytes.empty()) {
    const std::size_t size = std::min(bytes.size(), std::max<std::size_t>(1, next_size()));
    // A copy that is freed after feed(), which must not keep pointers to it.
    parser.feed(std::string(bytes.substr(0, size)));
    bytes.remove_prefix(size);
    while (const auto event = parser.next()) outcome.events.push_back(copied(*event));
  }
  while (const auto event = parser.finish()) outcome.at_end.push_back(copied(*event));
  outcome.stray = parser.stray();
  outcome.retry_ms = parser.retry_ms();
  outcome.too_large = parser.too_large();
  return outcome;
}

Outcome whole(std::string_view bytes, SseLimits limits = {}) {
  return parsed(bytes, [&] { return bytes.size(); }, limits);
}

std::string edge_cases() {
  return "\xEF\xBB\xBFretry: 3000\r\n: hello comment\r\nid: 1\r\nevent: first\r\ndata: a\xC3\xA9\r\ndata:b\r\n"
         "data:  c\r\n\r\ndata\n\ndata: cr only\r\r:\n\nevent: nodata\n\nunknown: x\ndata: after\xE2\x80\xA8sep\n\n"
         "id: bad" +
         std::string(1, '\0') + "id\ndata: z\n\nretry: 12x\ndata:\n\ndata: tail";
}

void expect_edge_cases(const Outcome& outcome) {
  const std::vector<Seen> expected = {{"first", "a\xC3\xA9\nb\n c", "1"}, {"", "", "1"},  {"", "cr only", "1"},
                                      {"", "after\xE2\x80\xA8sep", "1"},  {"", "z", "1"}, {"", "", "1"}};
  EXPECT_EQ(outcome.events, expected);
  EXPECT_EQ(outcome.at_end, (std::vector<Seen>{{"", "tail", "1"}}));
  EXPECT_EQ(outcome.retry_ms, 3000);
  EXPECT_EQ(outcome.stray, "unknown: x");
  EXPECT_FALSE(outcome.too_large);
}

TEST(SseParser, ReadsTheEdgeCasesWhole) { expect_edge_cases(whole(edge_cases())); }

TEST(SseParser, ReadsTheEdgeCasesByteByByte) {
  expect_edge_cases(parsed(edge_cases(), [] { return 1; }));
}

TEST(SseParser, ReadsTheEdgeCasesCutInTwoAnywhere) {
  const std::string bytes = edge_cases();
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    bool first = true;
    expect_edge_cases(parsed(bytes, [&] { return std::exchange(first, false) ? cut : bytes.size(); }));
  }
}

TEST(SseParser, ReadsTheEdgeCasesCutInThreeAnywhere) {
  const std::string bytes = edge_cases();
  const Outcome expected = whole(bytes);
  for (std::size_t a = 1; a < bytes.size(); a += 3) {
    for (std::size_t b = 1; b + a < bytes.size(); b += 2) {
      std::size_t piece = 0;
      const std::size_t sizes[] = {a, b, bytes.size()};
      ASSERT_EQ(parsed(bytes, [&] { return sizes[std::min<std::size_t>(piece++, 2)]; }), expected) << a << " " << b;
    }
  }
}

TEST(SseParser, TheNameOfAnEventWithoutDataIsForgotten) {
  EXPECT_EQ(whole("event: a\n\ndata: x\n\n").events, (std::vector<Seen>{{"", "x", ""}}));
}

TEST(SseParser, ACommentAndABlankLineAreNotAnEvent) { EXPECT_TRUE(whole(": keep-alive\n\n:\n\n\n\n").events.empty()); }

TEST(SseParser, OnlyOneSpaceBelongsToTheColon) {
  EXPECT_EQ(whole("data:   x \n\n").events, (std::vector<Seen>{{"", "  x ", ""}}));
}

TEST(SseParser, ABomIsDroppedOnceAndOnlyAtTheStart) {
  EXPECT_EQ(whole("\xEF\xBB\xBF"
                  "data: x\n\n")
                .events,
            (std::vector<Seen>{{"", "x", ""}}));
  const Outcome twice = whole(
      "\xEF\xBB\xBF\xEF\xBB\xBF"
      "data: x\n\n");
  EXPECT_TRUE(twice.events.empty());
  EXPECT_EQ(twice.stray,
            "\xEF\xBB\xBF"
            "data: x");
  EXPECT_EQ(whole("\xEF\xBB").stray, "\xEF\xBB");
}

TEST(SseParser, VerticalTabsAndUnicodeSeparatorsAreContent) {
  EXPECT_EQ(whole("data: a\vb\fc\xC2\x85"
                  "d\xE2\x80\xA9"
                  "e\n\n")
                .events,
            (std::vector<Seen>{{"",
                                "a\vb\fc\xC2\x85"
                                "d\xE2\x80\xA9"
                                "e",
                                ""}}));
}

TEST(SseParser, LinesOfJsonAreStrayAndJoined) {
  const Outcome outcome = whole("data: 1\n\n{\n  \"error\": {\"code\": 503}\n}\n");
  EXPECT_EQ(outcome.events.size(), 1U);
  EXPECT_EQ(outcome.stray, "{\n  \"error\": {\"code\": 503}\n}");
  EXPECT_EQ(whole("error: {\"code\":1}\n\n").stray, "error: {\"code\":1}");
}

TEST(SseParser, StrayBytesAreBounded) {
  const Outcome outcome = whole("abcdef\nghijkl\nmnopqr\n", {.max_stray_bytes = 9});
  EXPECT_EQ(outcome.stray, "abcdef\ngh");
}

TEST(SseParser, RetryAcceptsOnlyDigits) {
  for (const char* text : {"-1", "1.5", "", "+3", "0x1", "99999999999999999999", "-0", " 7"}) {
    EXPECT_EQ(whole("retry: " + std::string(text) + "\n\n").retry_ms, std::nullopt) << text;
  }
  EXPECT_EQ(whole("retry:0\n").retry_ms, 0);
}

TEST(SseParser, AnEventAtTheLimitIsReadAndOneBeyondIsNot) {
  const SseLimits limits{.max_event_bytes = 20};
  const std::string fits = "data: " + std::string(14, 'x') + "\n\n";
  EXPECT_EQ(whole(fits, limits).events.size(), 1U);
  for (const bool split : {false, true}) {
    const std::string bytes = fits + "data: " + std::string(15, 'x') + "\n\n" + fits;
    const Outcome outcome = parsed(bytes, [&] { return split ? 1 : bytes.size(); }, limits);
    EXPECT_TRUE(outcome.too_large);
    EXPECT_EQ(outcome.events.size(), 1U);
    EXPECT_TRUE(outcome.at_end.empty());
  }
}

TEST(SseParser, TheLimitIsForTheEventNotForItsLines) {
  const SseLimits limits{.max_event_bytes = 20};
  EXPECT_TRUE(whole("data: 123456\ndata: 123456\n\n", limits).too_large);
  EXPECT_TRUE(whole("data: 1\n" + std::string(":a long comment") + "\n\n", limits).too_large);
  EXPECT_FALSE(whole(":comment\n:comment\n:comment\ndata: 1\n\n", limits).too_large);
  EXPECT_TRUE(whole(":a comment that never ends", limits).too_large);
}

TEST(SseParser, EventsAreReadableInPlaceAfterMuchTraffic) {
  SseParser parser;
  std::size_t events = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string body(static_cast<std::size_t>(i % 700), static_cast<char>('a' + i % 26));
    parser.feed("data: " + body + "\n");
    if (i % 3 == 0) parser.feed("event: e\n");
    parser.feed("\n");
    while (const auto event = parser.next()) {
      ASSERT_EQ(event->data, body);
      ++events;
    }
  }
  EXPECT_EQ(events, 20000U);
}

TEST(SseParser, FeedingFasterThanReadingLosesNothing) {
  SseParser parser;
  std::string bytes;
  for (int i = 0; i < 3000; ++i) bytes += "data: " + std::to_string(i) + "\r\n\r\n";
  std::size_t seen = 0;
  const auto read_one = [&] {
    const auto event = parser.next();
    if (event) {
      EXPECT_EQ(event->data, std::to_string(seen++));
    }
    return event.has_value();
  };
  for (std::size_t at = 0; at < bytes.size(); at += 97) {
    parser.feed(bytes.substr(at, 97));
    read_one();
  }
  while (read_one()) continue;
  EXPECT_EQ(seen, 3000U);
}

// Lines of every kind, many of them short, so that splits often fall on line ends.
std::string random_stream(std::mt19937_64& random) {
  static const std::vector<std::string> kPieces = {"data",
                                                   ":",
                                                   " ",
                                                   "data: ",
                                                   "event: ",
                                                   "id: 1",
                                                   "id: ",
                                                   "retry: 5",
                                                   "\r",
                                                   "\n",
                                                   "\r\n",
                                                   "\n\n",
                                                   "\r\r",
                                                   "\r\n\r\n",
                                                   "x",
                                                   "{\"a\":1}",
                                                   "\xEF\xBB\xBF",
                                                   "\xE2\x80\xA8",
                                                   ": c",
                                                   std::string(1, '\0'),
                                                   "unknown: y",
                                                   "data: tail",
                                                   "0123456789012345678901234567890123456789"};
  std::string bytes;
  const std::size_t count = random() % 60;
  for (std::size_t i = 0; i < count; ++i) bytes += kPieces[random() % kPieces.size()];
  return bytes;
}

RC_GTEST_PROP(SseParserProperty, AnySplitGivesTheSameEvents, (std::uint64_t seed)) {
  std::mt19937_64 random(seed);
  for (int stream = 0; stream < 50; ++stream) {
    const std::string bytes = random_stream(random);
    const SseLimits limits{.max_event_bytes = random() % 2 == 0 ? 60U : 1000U, .max_stray_bytes = 50};
    const Outcome expected = whole(bytes, limits);
    RC_ASSERT(parsed(bytes, [] { return 1; }, limits) == expected);
    for (int i = 0; i < 5; ++i) {
      RC_ASSERT(parsed(bytes, [&] { return random() % 9 + 1; }, limits) == expected);
    }
  }
}

}  // namespace
}  // namespace allm::sse_parser_test
