// parse(write(e)) == e for random events of every kind that a model produces. Redacting twice changes nothing.
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "allm/serialize.hpp"

#include "providers/redact.hpp"
#include "testing/recording/event_json.hpp"
#include "testing/recording/exchange.hpp"
#include "testing/recording/redact_json.hpp"
#include "tests/generators.hpp"

namespace allm::recording_property_test {
namespace {

Event random_event(gen::Random& random, bool error = true) {
  const auto maybe_text = [&] { return random.maybe([&] { return random.text(); }); };
  switch (random.below(error ? 11 : 10)) {
    case 0:
      return MessageStarted{random.message()};
    case 1:
      return TextDelta{maybe_text(), random.text()};
    case 2:
      return TextCompleted{maybe_text(), random.text()};
    case 3:
      return ToolCallStarted{random.text(), random.text()};
    case 4:
      return ToolCallDelta{random.text(), random.text()};
    case 5:
      return ToolCallCompleted{random.tool_call()};
    case 6:
      return MessageCompleted{.message = random.message(),
                              .finish_reason = random.maybe([&] { return random.any_of(FinishReason::other); }),
                              .usage = random.maybe([&] { return random.usage(); }),
                              .request_id = maybe_text(),
                              .id = maybe_text(),
                              .model = maybe_text(),
                              .raw_finish_reason = maybe_text(),
                              .reasoning = maybe_text(),
                              .metadata = random.object(2)};
    case 7:
      return RawChunk{random.json()};
    case 8:
      return ReasoningDelta{random.text()};
    case 9:
      return ReasoningCompleted{random.text()};
    default:
      return ErrorEvent{random.error()};
  }
}

RC_GTEST_PROP(Recording, EventsSurviveJson, (const gen::Source& source)) {
  gen::Random random(source);
  const Event event = random_event(random);
  const Result<Json> json = event_to_json(event);
  RC_ASSERT(json.has_value());
  const Result<Event> read = event_from_json(*parse_json(*write_json(*json)));
  if (!read) RC_FAIL(read.error().message() + "\n" + json->dump());
  RC_ASSERT(*read == event);
}

RC_GTEST_PROP(Recording, ExchangesSurviveJson, (const gen::Source& source)) {
  gen::Random random(source);
  AdapterCall call{.request = random.request(), .model = random.maybe([&] { return random.model(); })};
  call.options = random.object(2);
  const std::vector<Event> events = random.list([&] { return random_event(random, false); });
  const Result<std::string> line = write_exchange("p", call, events, Exchange::End::dropped);
  RC_ASSERT(line.has_value());
  RC_ASSERT(line->find('\n') == std::string::npos);
  const Result<Exchange> read = read_exchange(*line);
  if (!read) RC_FAIL(read.error().message() + "\n" + *line);
  RC_ASSERT(read->events == events);
  RC_ASSERT(json_equal(read->request, request_form(call)));
}

// Text with complete, incomplete and adjacent secrets.
std::string text_with_secrets(gen::Random& random) {
  static const std::vector<std::string> parts = {"sk-",    "abcdef", "01234567", "AIza", "[REDACTED]", " ",
                                                 "ya29.x", "-",      "org-",     "k",    "s",          "_1"};
  std::string text;
  for (std::size_t left = random.below(10); left > 0; --left) text += random.pick(parts);
  return text;
}

RC_GTEST_PROP(Recording, RedactingTwiceChangesNothing, (const gen::Source& source)) {
  gen::Random random(source);
  const std::string once = redact(text_with_secrets(random), "01234567");
  RC_ASSERT(redact(once, "01234567") == once);
}

// A replayed message is part of the next request, which must equal the recorded and redacted request.
RC_GTEST_PROP(Recording, RedactedPiecesAreTheRedactedText, (const gen::Source& source)) {
  gen::Random random(source);
  std::vector<std::string> pieces(random.below(6));
  std::vector<std::string*> pointers;
  std::string text;
  for (std::string& piece : pieces) {
    piece = text_with_secrets(random);
    text += piece;
    pointers.push_back(&piece);
  }
  redact_pieces(pointers, "01234567");
  std::string joined;
  for (const std::string& piece : pieces) joined += piece;
  RC_ASSERT(joined == redact(text, "01234567"));
}

}  // namespace
}  // namespace allm::recording_property_test
