// Streams that end too early, for every provider: a cut inside an event and one between events are the same error, and
// no cut matters after the finish reason.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "providers/provider_errors.hpp"
#include "tests/transcript_fixture.hpp"
#include "tests/wire_answers.hpp"

namespace allm::cut_test {
namespace {

using testing::Piece;
using testing::WireFormat;

std::vector<Event> events_of(const WireFormat& format, std::string_view body) {
  return decoded(*format.codec, call_for(format), testing::kStreamHead, body);
}

std::string until_finish(const WireFormat& format) {
  return format.begin() + format.start(Piece::text) + format.piece(Piece::text, "\"Hello \"") +
         format.piece(Piece::text, "\"there\"") + format.finish(format.stop_word);
}

TEST(Cut, EveryCutBeforeTheFinishReasonIsTheSameError) {
  for (const WireFormat& format : testing::wire_formats()) {
    const std::string body = until_finish(format);
    const std::size_t finished = body.size() - std::string_view("\n\n").size();
    const Error expected = truncated_stream(format.codec->provider());
    for (std::size_t size = 0; size < finished; ++size) {
      const std::vector<Event> events = events_of(format, std::string_view(body).substr(0, size));
      ASSERT_FALSE(events.empty());
      const auto* failed = events.back().get_if<ErrorEvent>();
      ASSERT_NE(failed, nullptr) << format.name << " " << body.substr(0, size);
      EXPECT_EQ(to_json(failed->error), to_json(expected)) << format.name << " " << body.substr(0, size);
    }
  }
}

TEST(Cut, NoCutAfterTheFinishReasonMatters) {
  for (const WireFormat& format : testing::wire_formats()) {
    const std::string finished = until_finish(format);
    const std::string body = finished + format.end(format.stop_word);
    for (std::size_t size = finished.size() - 2; size <= body.size(); ++size) {
      const Response response = folded(events_of(format, std::string_view(body).substr(0, size)));
      EXPECT_FALSE(response.error) << format.name << " " << body.substr(finished.size() - 2, size);
      EXPECT_EQ(response.output_text, "Hello there");
      EXPECT_EQ(response.finish_reason, FinishReason::stop);
    }
  }
}

TEST(Cut, TheDecoderKnowsWhenTheAnswerIsComplete) {
  for (const WireFormat& format : testing::wire_formats()) {
    SCOPED_TRACE(format.name);
    const std::unique_ptr<BodyDecoder> decoder = format.codec->decoder(call_for(format), testing::kStreamHead);
    std::vector<Event> events;
    decoder->feed(format.begin() + format.start(Piece::text) + format.piece(Piece::text, "\"Hello\""), events);
    EXPECT_FALSE(decoder->has_answer());
    decoder->feed(format.finish(format.stop_word), events);
    EXPECT_TRUE(decoder->has_answer());
  }
}

TEST(Cut, AnEventThatIsNotTheBeginningOfJsonIsMalformed) {
  for (const WireFormat& format : testing::wire_formats()) {
    const std::vector<Event> events = events_of(format, format.begin() + "data: oops");
    const auto* failed = events.back().get_if<ErrorEvent>();
    ASSERT_NE(failed, nullptr);
    EXPECT_EQ(failed->error.reason(), "malformed_event") << format.name;
  }
}

}  // namespace
}  // namespace allm::cut_test
