#include "engine/repaired_source.hpp"

#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/chat.hpp"
#include "allm/serialize.hpp"
#include "allm/session_ops.hpp"

#include "data/utf8.hpp"
#include "data/utf8_repair.hpp"

namespace allm::repaired_source_test {
namespace {

const std::string kReplaced = "\xEF\xBF\xBD";

class Script : public EventSource {
 public:
  explicit Script(std::vector<Event> events) : events_(std::move(events)) {}
  Poll poll(const Waker&) override { return at_ < events_.size() ? Poll(events_[at_++]) : Poll::end(); }

 private:
  std::vector<Event> events_;
  std::size_t at_ = 0;
};

std::vector<Event> repaired(std::vector<Event> events) {
  RepairedSource source(std::make_unique<Script>(std::move(events)));
  std::vector<Event> seen;
  for (Poll polled = source.poll({}); polled.has_event(); polled = source.poll({})) seen.push_back(polled.take());
  return seen;
}

TEST(RepairedSource, ValidEventsPassAsTheyAre) {
  const std::vector<Event> events = {
      MessageStarted{assistant("")}, ReasoningDelta{"hm"},      TextDelta{.delta = "tä"},
      ToolCallStarted{"c0", "t"},    ToolCallDelta{"c0", "{}"}, ToolCallCompleted{{.id = "c0", .name = "t"}},
      TextCompleted{.text = "tä"},   RawChunk{{{"a", "ü"}}},    MessageCompleted{.message = assistant("tä")},
  };
  EXPECT_EQ(repaired(events), events);
}

TEST(RepairedSource, ACharacterThatIsSplitOverDeltasStaysWhole) {
  EXPECT_EQ(repaired({TextDelta{.delta = "a\xE2"}, TextDelta{.delta = "\x82"}, TextDelta{.delta = "\xAC b"}}),
            (std::vector<Event>{TextDelta{.delta = "a"}, TextDelta{.delta = ""}, TextDelta{.delta = "\u20AC b"}}));
}

TEST(RepairedSource, EachTextAndCallHasItsOwnIncompleteCharacter) {
  EXPECT_EQ(
      repaired({TextDelta{.delta = "\xC3"}, ToolCallDelta{"c0", "\xE2\x82"}, ToolCallDelta{"c1", "x"},
                ReasoningDelta{"\xC3"}, ReasoningDelta{"\xBC"}, TextDelta{.delta = "\xA4"},
                ToolCallDelta{"c0", "\xAC"}}),
      (std::vector<Event>{TextDelta{.delta = ""}, ToolCallDelta{"c0", ""}, ToolCallDelta{"c1", "x"}, ReasoningDelta{""},
                          ReasoningDelta{"ü"}, TextDelta{.delta = "ä"}, ToolCallDelta{"c0", "\u20AC"}}));
}

TEST(RepairedSource, AnIncompleteCharacterAtTheEndOfAMessageIsReplaced) {
  EXPECT_EQ(repaired({TextDelta{.delta = "a\xC3"}, MessageCompleted{.message = assistant("a\xC3")}}),
            (std::vector<Event>{TextDelta{.delta = "a"}, TextDelta{.delta = kReplaced},
                                MessageCompleted{.message = assistant("a" + kReplaced)}}));
  EXPECT_EQ(repaired({ReasoningDelta{"a\xC3"}, TextDelta{.delta = "b"}}),
            (std::vector<Event>{ReasoningDelta{"a"}, ReasoningDelta{kReplaced}, TextDelta{.delta = "b"}}));
  EXPECT_EQ(repaired({TextDelta{.delta = "a\xC3"}, TextCompleted{.text = "a\xC3"}}),
            (std::vector<Event>{TextDelta{.delta = "a"}, TextCompleted{.text = "a" + kReplaced}}));
}

TEST(RepairedSource, EverythingThatIsSavedIsRepaired) {
  ToolCall call{.id = "\xff", .name = "\xff", .arguments = {{"\xff", "\xff"}}, .raw_arguments = "\xff"};
  call.metadata = {{"list", {1, "\xff", std::numeric_limits<double>::quiet_NaN()}}};
  Message message = assistant(std::vector<Part>{TextPart{.text = "\xff"}, UnknownPart{"\xff"}});
  message.metadata = {{"k", "\xff"}};
  message.tool_calls = {call};
  const std::vector<Event> events = repaired(
      {ToolCallStarted{"\xff", "\xff"}, ToolCallCompleted{call}, RawChunk{"\xff"},
       MessageCompleted{
           .message = message, .id = "\xff", .model = "\xff", .reasoning = "\xff", .metadata = {{"k", "\xff"}}},
       ErrorEvent{Error(AdapterError{.reason = AdapterError::Reason::unknown}, "\xff", {{"k", "\xff"}})}});
  EXPECT_EQ(*events[0].get_if<ToolCallStarted>(), (ToolCallStarted{kReplaced, kReplaced}));
  const ToolCall& whole = events[1].get_if<ToolCallCompleted>()->call;
  EXPECT_EQ(whole.arguments, Json({{kReplaced, kReplaced}}));
  EXPECT_EQ(whole.metadata, Json({{"list", {1, kReplaced, nullptr}}}));
  EXPECT_TRUE(to_json(whole).has_value());
  EXPECT_EQ(events[2].get_if<RawChunk>()->chunk, kReplaced);
  const MessageCompleted& completed = *events[3].get_if<MessageCompleted>();
  EXPECT_TRUE(to_json(completed.message).has_value());
  EXPECT_EQ(completed.id, kReplaced);
  EXPECT_EQ(completed.metadata, Json({{"k", kReplaced}}));
  EXPECT_TRUE(to_json(events[4].get_if<ErrorEvent>()->error).has_value());
}

// The deltas of a text of random bytes give the text that is repaired as a whole, wherever the text is split.
TEST(RepairedSource, TheResultDoesNotDependOnTheSplit) {
  std::minstd_rand random(13);
  const std::vector<std::string> pieces = {"a",    "ä",        "\u20AC", "\U0001F600", "\xff",
                                           "\xC3", "\xE2\x82", "\x80",   "\xF0"};
  for (int round = 0; round < 2000; ++round) {
    std::string whole;
    for (std::size_t left = random() % 8; left > 0; --left) whole += pieces[random() % pieces.size()];
    std::vector<Event> deltas;
    for (std::size_t at = 0; at < whole.size();) {
      const std::size_t size = 1 + random() % 3;
      deltas.emplace_back(TextDelta{.delta = whole.substr(at, size)});
      at += size;
    }
    deltas.emplace_back(MessageCompleted{.message = assistant(whole)});
    std::string text;
    for (const Event& event : repaired(std::move(deltas))) {
      if (const auto* delta = event.get_if<TextDelta>()) {
        text += delta->delta;
        EXPECT_TRUE(is_utf8(delta->delta));
      }
    }
    ASSERT_EQ(text, repair_utf8(whole)) << testing::PrintToString(whole);
  }
}

class BrokenModel : public Adapter {
 public:
  std::string_view provider() const override { return "broken"; }
  Result<std::unique_ptr<EventSource>> open(const AdapterCall&) override {
    return std::make_unique<Script>(std::vector<Event>{
        MessageStarted{assistant("")}, ReasoningDelta{"\xff"}, TextDelta{.delta = "caf\xC3"},
        TextDelta{.delta = "\xA9 \xff"},
        MessageCompleted{.message = assistant("caf\xC3\xA9 \xff"), .finish_reason = FinishReason::stop}});
  }
};

TEST(RepairedSource, ASessionWithInvalidTextOfTheModelCanBeSaved) {
  const Engine engine({.adapter = std::make_shared<BrokenModel>()});
  const Result<ChatResult> result = chat(engine, {user("hi")});
  ASSERT_TRUE(result.has_value()) << result.error().message();
  EXPECT_EQ(result->final_response->output_text, "café " + kReplaced);
  EXPECT_EQ(result->final_response->reasoning, kReplaced);
  EXPECT_TRUE(to_json(*result).has_value());
}

}  // namespace
}  // namespace allm::repaired_source_test
