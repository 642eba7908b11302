// Reasoning: its events, their order, and what the results keep.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/chat.hpp"
#include "allm/collector.hpp"
#include "allm/fake.hpp"
#include "allm/serialize.hpp"

namespace allm::reasoning_test {
namespace {

const FakeEntry kStop = fake_finish(FinishReason::stop);

// The events up to the end of the message or an error: reasoning as "<delta" and "=whole", others by their tag.
std::vector<std::string> shown(EventStream stream) {
  std::vector<std::string> texts;
  while (auto event = stream.next()) {
    if (const auto* delta = event->get_if<ReasoningDelta>()) {
      texts.push_back("<" + delta->delta);
    } else if (const auto* whole = event->get_if<ReasoningCompleted>()) {
      texts.push_back("=" + whole->text);
    } else {
      texts.emplace_back(to_string(event->tag()));
    }
  }
  return texts;
}

Engine engine_of(FakeCallScript script) { return Engine({.adapter = fake({std::move(script)})}); }

const Request kRequest = {.messages = {user("hi")}};

TEST(Reasoning, IsCompletedBeforeTheFirstEventThatIsNotReasoning) {
  const Engine engine = engine_of({fake_reasoning("a"), fake_reasoning("b"), fake_text("x"), kStop});
  EXPECT_EQ(shown(stream_generate(engine, kRequest)),
            (std::vector<std::string>{"message_started", "<a", "<b", "=ab", "text_delta", "text_completed",
                                      "message_completed"}));
}

TEST(Reasoning, MayComeSeveralTimesInAMessage) {
  const Engine engine = engine_of({fake_reasoning("a"), fake_text("x"), fake_reasoning("b"), kStop});
  StreamCollector collector;
  std::vector<std::string> completed;
  for (const Event& event : stream_generate(engine, kRequest)) {
    collector.apply(event);
    if (const auto* whole = event.get_if<ReasoningCompleted>()) completed.push_back(whole->text);
  }
  EXPECT_EQ(completed, (std::vector<std::string>{"a", "b"}));
  const Result<Response> response = collector.response();
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->reasoning, "ab");
  EXPECT_EQ(response->output_text, "x");
}

TEST(Reasoning, ARawChunkDoesNotCompleteIt) {
  const Engine engine = engine_of({fake_reasoning("a"), FakeRawChunk{"raw"}, fake_reasoning("b"), kStop});
  EXPECT_EQ(shown(stream_generate(engine, kRequest, {.include_raw_chunks = true})),
            (std::vector<std::string>{"message_started", "<a", "raw_chunk", "<b", "=ab", "message_completed"}));
}

TEST(Reasoning, IsKeptInTheResponseWhenItsEventsAreDropped) {
  const FakeCallScript script = {fake_reasoning("a"), fake_text("x"), kStop};
  EXPECT_EQ(shown(stream_generate(engine_of(script), kRequest, {.emit_reasoning = false})),
            (std::vector<std::string>{"message_started", "text_delta", "text_completed", "message_completed"}));
  const Result<Response> response = generate(engine_of(script), kRequest, {.emit_reasoning = false});
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->reasoning, "a");
}

TEST(Reasoning, OfAnInterruptedMessageIsKept) {
  const FakeCallScript script = {fake_reasoning("a"), fake_text("x"), fake_error(AdapterError::Reason::network_error)};
  EXPECT_EQ(shown(stream_generate(engine_of(script), kRequest)),
            (std::vector<std::string>{"message_started", "<a", "=a", "text_delta", "error"}));
  EXPECT_EQ(shown(stream_generate(engine_of(script), kRequest, {.emit_text_deltas = false, .emit_reasoning = false})),
            (std::vector<std::string>{"message_started", "=a", "text_completed", "error"}));
  for (const bool emitted : {true, false}) {
    const Result<Response> response = generate(engine_of(script), kRequest, {.emit_reasoning = emitted});
    ASSERT_TRUE(response.has_value());
    EXPECT_EQ(response->reasoning, "a");
  }
}

TEST(Reasoning, AnObserverSeesItOnceEvenIfItIsDropped) {
  const FakeCallScript script = {fake_reasoning("a"), fake_text("x"), fake_error(AdapterError::Reason::network_error)};
  for (const bool emitted : {true, false}) {
    StreamCollector seen;
    const CallOptions options{.emit_reasoning = emitted, .on_event = [&](const Event& event) { seen.apply(event); }};
    ASSERT_TRUE(generate(engine_of(script), kRequest, options).has_value());
    const Result<Response> response = seen.response();
    ASSERT_TRUE(response.has_value());
    EXPECT_EQ(response->reasoning, "a");
    EXPECT_EQ(response->output_text, "x");
  }
}

TEST(Reasoning, IsInTheResultOfARunAndSurvivesJson) {
  const Result<ChatResult> result =
      chat(engine_of({fake_reasoning("because"), fake_text("so"), kStop}), {user("why?")});
  ASSERT_TRUE(result.has_value());
  ASSERT_TRUE(result->final_response.has_value());
  EXPECT_EQ(result->final_response->reasoning, "because");
  const Result<std::string> text = to_json(*result);
  ASSERT_TRUE(text.has_value());
  const Result<ChatResult> read = from_json<ChatResult>(*text);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(*read, *result);
}

TEST(Reasoning, AResponseWithoutItHasNoSuchMember) {
  const Result<Response> response = generate(engine_of({fake_text("so"), kStop}), kRequest);
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->reasoning, std::nullopt);
  EXPECT_FALSE(to_json_value(*response).at("data").contains("reasoning"));
}

}  // namespace
}  // namespace allm::reasoning_test
