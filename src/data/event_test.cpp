// Event is a variant of our own, so its life is tested here: every kind made, copied, moved and replaced by every
// other.
#include "allm/event.hpp"

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace allm::event_test {
namespace {

// Too long to be kept within a string: a copy that shares or loses it is seen, by a sanitizer at the least.
const std::string kText(100, 'x');

std::vector<Event> one_of_each() {
  const auto step = std::make_shared<const StepResult>(StepResult{.thread = {user(kText)}});
  const auto chat = std::make_shared<const ChatResult>(ChatResult{.thread = {user(kText)}});
  return {
      MessageStarted{assistant(kText)},
      TextDelta{kText, kText},
      TextCompleted{kText, kText},
      ReasoningDelta{kText},
      ReasoningCompleted{kText},
      ToolCallStarted{kText, kText},
      ToolCallDelta{kText, kText},
      ToolCallCompleted{{.id = kText, .name = kText, .arguments = {{"a", kText}}}},
      MessageCompleted{.message = assistant(kText), .id = kText, .metadata = {{"a", kText}}},
      RawChunk{kText},
      ErrorEvent{Error(StreamError{}, kText)},
      ToolExecutionStarted{kText, kText, {{"a", kText}}},
      ToolExecutionCompleted{kText, kText, ok(kText)},
      ToolResultEncoded{kText, kText},
      AskUserRequested{kText, kText, kText, {{"a", kText}}},
      ToolHalt{.tool_call_id = kText, .reason = kText, .result = kText, .content = kText},
      StepCompleted{step, Mode::manual},
      ChatCompleted{chat},
  };
}

TEST(EventTest, TagsFollowTheKinds) {
  const std::vector<Event> events = one_of_each();
  ASSERT_EQ(events.size(), 18U);
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(events[i].tag()), i);
    const EventTag seen = events[i].visit([](const auto& payload) { return Event(payload).tag(); });
    EXPECT_EQ(seen, events[i].tag()) << "visit gives the payload of another kind";
  }
}

TEST(EventTest, GetIfKnowsItsOwnKindOnly) {
  Event event = TextDelta{.delta = "a"};
  ASSERT_NE(event.get_if<TextDelta>(), nullptr);
  EXPECT_EQ(event.get_if<TextCompleted>(), nullptr);
  EXPECT_EQ(event.get_if<MessageCompleted>(), nullptr);
  event.get_if<TextDelta>()->delta = "b";
  EXPECT_EQ(std::as_const(event).get_if<TextDelta>()->delta, "b");
  static_assert(!std::is_constructible_v<Event, int> && !std::is_constructible_v<Event, std::string>);
}

TEST(EventTest, EqualsItsOwnKindAndContentOnly) {
  const std::vector<Event> events = one_of_each();
  const std::vector<Event> others = one_of_each();
  for (std::size_t i = 0; i < events.size(); ++i) {
    for (std::size_t k = 0; k < others.size(); ++k) EXPECT_EQ(events[i] == others[k], i == k) << i << " and " << k;
  }
  EXPECT_NE(Event(TextDelta{.delta = "a"}), Event(TextDelta{.delta = "b"}));
  EXPECT_NE(Event(ToolCallCompleted{{.id = "a"}}), Event(ToolCallCompleted{{.id = "b"}}));
}

TEST(EventTest, CopiesAreEqualAndTheirOwn) {
  for (const Event& event : one_of_each()) {
    auto copy = std::make_unique<Event>(event);
    EXPECT_EQ(*copy, event);
    copy.reset();
    EXPECT_EQ(event, Event(event)) << "the copy took something with it";
  }
  Event delta = TextDelta{.delta = kText};
  Event copy = delta;
  copy.get_if<TextDelta>()->delta = "other";
  EXPECT_EQ(delta.get_if<TextDelta>()->delta, kText);
}

TEST(EventTest, MovingTakesThePayloadAlong) {
  const std::vector<Event> expected = one_of_each();
  std::vector<Event> events = one_of_each();
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event moved = std::move(events[i]);
    EXPECT_EQ(moved, expected[i]);
    events[i] = expected[i];  // what was moved from can be assigned to
    EXPECT_EQ(events[i], expected[i]);
  }
}

TEST(EventTest, EveryKindReplacesEveryOther) {
  const std::vector<Event> events = one_of_each();
  for (const Event& before : events) {
    for (const Event& after : events) {
      Event copied = before;
      copied = after;
      EXPECT_EQ(copied, after);
      Event moved = before;
      moved = Event(after);
      EXPECT_EQ(moved, after);
    }
  }
}

TEST(EventTest, SurvivesBeingAssignedToItself) {
  for (Event event : one_of_each()) {
    const Event before = event;
    Event& same = event;
    event = same;
    EXPECT_EQ(event, before);
    event = std::move(same);
    EXPECT_EQ(event, before);
  }
}

// A pointer into an event that is gone by the end of the line must not compile.
template <class E>
concept GivesItsPayload = requires(E&& event) { std::forward<E>(event).template get_if<TextDelta>(); };
static_assert(GivesItsPayload<Event&> && GivesItsPayload<const Event&>);
static_assert(!GivesItsPayload<Event> && !GivesItsPayload<const Event>);

}  // namespace
}  // namespace allm::event_test
