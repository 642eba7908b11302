// Characters that a server cuts into their two halves, in the texts of every provider.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "data/surrogates.hpp"
#include "providers/provider_json.hpp"
#include "tests/transcript_fixture.hpp"
#include "tests/wire_answers.hpp"

namespace allm::split_halves_test {
namespace {

using testing::Piece;
using testing::WireFormat;

std::vector<Event> events_of(const WireFormat& format, const std::string& body) {
  return decoded_in_every_way(*format.codec, call_for(format), testing::kStreamHead, body);
}

// The events of these pieces, with the finish reason of a text.
Response streamed(const WireFormat& format, Piece kind, const std::vector<std::string>& pieces) {
  std::string body = format.begin() + format.start(kind);
  for (const std::string& piece : pieces) body += format.piece(kind, '"' + piece + '"');
  return folded(events_of(format, body + format.finish(format.stop_word) + format.end(format.stop_word)));
}

TEST(SplitHalves, AreJoinedInTextAndReasoning) {
  for (const WireFormat& format : testing::wire_formats()) {
    SCOPED_TRACE(format.name);
    const std::vector<std::string> pieces = {"a\\ud83d", "", "\\ude00b"};
    EXPECT_EQ(streamed(format, Piece::text, pieces).output_text, "a😀b");
    EXPECT_EQ(streamed(format, Piece::reasoning, pieces).reasoning, "a😀b");
  }
}

TEST(SplitHalves, AreJoinedInArguments) {
  for (const WireFormat& format : testing::wire_formats()) {
    if (!format.streams_arguments) continue;
    SCOPED_TRACE(format.name);
    // The halves of the text on the wire, and those of an escape in the arguments themselves.
    for (const char* escape : {"\\", "\\\\"}) {
      const std::string half = escape;
      const Response response =
          streamed(format, Piece::arguments, {"{\\\"a\\\":\\\"" + half + "ud83d", half + "ude00\\\"}"});
      ASSERT_EQ(response.tool_calls.size(), 1U);
      EXPECT_EQ(response.tool_calls[0].arguments, Json({{"a", "😀"}}));
    }
  }
}

// Each string of an event may have halves, its keys too; reading them must stay linear in their number.
TEST(SplitHalves, AnEventMayHaveManyOfThem) {
  constexpr std::size_t kParts = 100'000;
  constexpr std::array<std::string_view, 1> kPieces = {"parts.text"};
  std::string event = R"({"parts":[)";
  for (std::size_t i = 0; i < kParts; ++i) event += R"({"\ud83d":"\ud83d","text":"\ude00a\ud83d"},)";
  event.back() = ']';
  const auto value = parse_event_json(event + '}', kPieces);
  ASSERT_TRUE(value.has_value());
  ASSERT_EQ(value->at("parts").size(), kParts);
  const std::string piece = half_bytes(0xDE00) + 'a' + half_bytes(0xD83D);
  for (const Json& part : value->at("parts")) {
    ASSERT_EQ(part.at("text").get_ref<const std::string&>(), piece);
    ASSERT_EQ(part.at("\uFFFD").get_ref<const std::string&>(), "\uFFFD") << "not a piece";
  }
}

TEST(SplitHalves, ALoneHalfIsReplaced) {
  for (const WireFormat& format : testing::wire_formats()) {
    SCOPED_TRACE(format.name);
    EXPECT_EQ(streamed(format, Piece::text, {"a\\ud83d"}).output_text, "a\uFFFD");
    EXPECT_EQ(streamed(format, Piece::text, {"a\\ud83d", "b\\ude00"}).output_text, "a\uFFFDb\uFFFD");
    EXPECT_EQ(streamed(format, Piece::reasoning, {"\\ude00", "\\ud83d"}).reasoning, "\uFFFD\uFFFD");
    // In Gemini's format this is the escape itself, in the others an escape within the text of the arguments.
    const Response response = streamed(format, Piece::arguments, {"{\\\"a\\\":\\\"\\\\ud83d\\\"}"});
    ASSERT_EQ(response.tool_calls.size(), 1U);
    EXPECT_EQ(response.tool_calls[0].arguments, Json({{"a", "\uFFFD"}}));
    EXPECT_EQ(parse_json(*response.tool_calls[0].raw_arguments), Json({{"a", "\uFFFD"}}));
  }
}

TEST(SplitHalves, ALoneHalfInAWholeBodyIsReplaced) {
  for (const WireFormat& format : testing::wire_formats()) {
    SCOPED_TRACE(format.name);
    const std::string body = format.whole(R"({"a":"\ud83d"})", format.calls_word);
    const Response response = folded(decoded(*format.codec, call_for(format), testing::kWholeHead, body));
    ASSERT_EQ(response.tool_calls.size(), 1U);
    EXPECT_EQ(response.tool_calls[0].arguments, Json({{"a", "\uFFFD"}}));
  }
}

TEST(SplitHalves, RawChunksAndTheMessageAreValid) {
  for (const WireFormat& format : testing::wire_formats()) {
    SCOPED_TRACE(format.name);
    AdapterCall call = call_for(format);
    call.include_raw_chunks = true;
    const std::string body = format.begin() + format.start(Piece::text) + format.piece(Piece::text, "\"\\ud83d\"") +
                             format.piece(Piece::text, "\"\\ude00\"") + format.finish(format.stop_word) +
                             format.end(format.stop_word);
    const std::vector<Event> events = decoded(*format.codec, call, testing::kStreamHead, body);
    for (const Event& event : events) {
      if (const auto* chunk = event.get_if<RawChunk>()) {
        EXPECT_TRUE(write_json(chunk->chunk).has_value());
      }
    }
    EXPECT_EQ(stored_message(events).text(), "😀");
  }
}

TEST(SplitHalves, InASignedPartOfGeminiAreJoined) {
  const WireFormat gemini = testing::wire_formats().back();
  const std::vector<Event> events =
      events_of(gemini, testing::wire::gemini_part(R"({"text":"a\ud83d"})") +
                            testing::wire::gemini_part(R"({"text":"\ude00b","thoughtSignature":"s"})") +
                            testing::wire::gemini_part(R"({"functionCall":{"name":"f","args":{}},"text":"\ud83d"})") +
                            gemini.finish("STOP"));
  const Message message = stored_message(events);
  EXPECT_EQ(message.text(), "a😀b");
  EXPECT_EQ(message.metadata["gemini"][1], Json({{"text", "😀b"}, {"thoughtSignature", "s"}}));
}

TEST(SplitHalves, ARepeatedKeyMakesHalvesLone) {
  const WireFormat chat = testing::wire_formats().front();
  const Response response =
      folded(events_of(chat, testing::event_of(R"({"id":"r","id":"r","choices":[{"delta":{"content":"a\ud83d"}}]})") +
                                 chat.piece(Piece::text, "\"\\ude00\"") + chat.finish("stop") + chat.end("stop")));
  EXPECT_EQ(response.output_text, "a\uFFFD\uFFFD");
}

// A random text as UTF-16, with lone halves; its JSON escapes, and what it means.
struct Sample {
  std::vector<char16_t> units;
  std::string text;
};

Sample random_sample(std::mt19937& random) {
  constexpr std::array<char16_t, 7> kUnits = {0xD83D, 0xDE00, 0xD83D, 0xDE00, 0x61, 0xE9, 0xFFFD};
  Sample sample;
  for (std::size_t size = random() % 10; size > 0; --size) sample.units.push_back(kUnits[random() % kUnits.size()]);
  for (std::size_t i = 0; i < sample.units.size(); ++i) {
    const char16_t unit = sample.units[i];
    if (unit == 0xD83D && i + 1 < sample.units.size() && sample.units[i + 1] == 0xDE00) {
      sample.text += "😀";
      ++i;
    } else {
      sample.text += unit == 0x61 ? "a" : unit == 0xE9 ? "é" : "\uFFFD";
    }
  }
  return sample;
}

std::string escaped(char16_t unit) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "\\u%04x", static_cast<unsigned>(unit));
  return text.data();
}

// Each text is split at random between any two halves; the pieces of the texts are in random order, with empty ones.
TEST(SplitHalves, AnySplitOverAnyEventsGivesTheSameText) {
  std::mt19937 random(5);
  for (const WireFormat& format : testing::wire_formats()) {
    SCOPED_TRACE(format.name);
    std::vector<Piece> kinds = {Piece::text, Piece::reasoning};
    if (format.streams_arguments) kinds.push_back(Piece::arguments);
    for (int run = 0; run < 100; ++run) {
      std::string body = format.begin();
      std::map<Piece, Sample> samples;
      std::map<Piece, std::size_t> sent;
      for (const Piece kind : kinds) {
        samples[kind] = random_sample(random);
        body += format.start(kind);
        if (kind == Piece::arguments) body += format.piece(kind, R"("{\"a\":\"")");
      }
      const auto is_sent = [&](Piece kind) { return sent[kind] == samples[kind].units.size(); };
      while (!std::ranges::all_of(kinds, is_sent)) {
        const Piece kind = kinds[random() % kinds.size()];
        std::string piece;
        for (std::size_t size = random() % 3; size > 0 && !is_sent(kind); --size) {
          piece += escaped(samples[kind].units[sent[kind]++]);
        }
        body += format.piece(kind, '"' + piece + '"');
      }
      if (format.streams_arguments) body += format.piece(Piece::arguments, R"("\"}")");
      body += format.finish(format.stop_word) + format.end(format.stop_word);
      const Response response = folded(decoded(*format.codec, call_for(format), testing::kStreamHead, body));
      EXPECT_EQ(response.output_text.value_or(""), samples[Piece::text].text) << body;
      EXPECT_EQ(response.reasoning.value_or(""), samples[Piece::reasoning].text) << body;
      if (!format.streams_arguments) continue;
      ASSERT_EQ(response.tool_calls.size(), 1U);
      EXPECT_EQ(response.tool_calls[0].arguments, Json({{"a", samples[Piece::arguments].text}})) << body;
    }
  }
}

}  // namespace
}  // namespace allm::split_halves_test
