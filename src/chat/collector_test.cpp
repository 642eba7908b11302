#include "allm/collector.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace allm::collector_test {
namespace {

StreamCollector fold(const std::vector<Event>& events) {
  StreamCollector collector(Thread{user("seed")});
  for (const Event& event : events) collector.apply(event);
  return collector;
}

const Event kStarted = MessageStarted{assistant("")};
Event delta(std::string text) { return TextDelta{.delta = std::move(text)}; }
Event completed(std::optional<FinishReason> reason) {
  return MessageCompleted{.message = assistant(""), .finish_reason = reason};
}
const Error kError(AdapterError{.reason = AdapterError::Reason::timeout});
Event step_of(std::string text) {
  auto step = std::make_shared<StepResult>();
  step->response.output_text = text;
  step->response.usage.input_tokens = 1;
  step->thread = {user("seed"), assistant(std::move(text))};
  return StepCompleted{.step = std::move(step)};
}

TEST(Collector, WithoutEventsIsEmpty) {
  const StreamCollector collector = fold({});
  EXPECT_TRUE(collector.response().error().is<StreamError>(StreamError::Reason::cancelled));
  EXPECT_TRUE(collector.step_result().error().is<StreamError>(StreamError::Reason::cancelled));
  const auto chat = collector.chat_result();
  ASSERT_TRUE(chat.has_value());
  EXPECT_EQ(chat->halted_reason(), "cancelled");
  EXPECT_EQ(chat->thread, Thread{user("seed")});
  EXPECT_FALSE(chat->final_response.has_value());
  EXPECT_EQ(collector.tool_batch(), ToolBatch{});
}

TEST(Collector, MovedEventsGiveTheSameResult) {
  const std::vector<Event> events = {
      kStarted,
      delta("Let me look."),
      ToolCallStarted{"a", "one"},
      ToolCallCompleted{{.id = "a", .name = "one", .arguments = {{"x", 1}}}},
      MessageCompleted{.message = assistant("Let me look."),
                       .finish_reason = FinishReason::tool_calls,
                       .usage = Usage{.input_tokens = 3},
                       .id = "m"},
      ToolExecutionStarted{.id = "a", .name = "one", .arguments = {{"x", 1}}},
      ToolResultEncoded{"a", "2"},
  };
  const StreamCollector kept = fold(events);
  StreamCollector taken(Thread{user("seed")});
  for (Event event : events) taken.apply(std::move(event));
  ASSERT_TRUE(kept.response().has_value());
  EXPECT_EQ(kept.response()->tool_calls.size(), 1U);
  EXPECT_EQ(taken.response(), kept.response());
  EXPECT_EQ(taken.tool_batch(), kept.tool_batch());
  EXPECT_EQ(taken.chat_result(), kept.chat_result());
}

TEST(Collector, CompletedTextReplacesTheDeltas) {
  EXPECT_EQ(fold({kStarted, delta("a"), delta("b")}).response()->output_text, "ab");
  EXPECT_EQ(fold({kStarted, delta("a"), TextCompleted{.text = "whole"}}).response()->output_text, "whole");
}

TEST(Collector, CallsKeepTheOrderOfTheirFirstEvents) {
  const auto response = fold({kStarted, ToolCallStarted{"b", "two"}, ToolCallDelta{"a", "{"},
                              ToolCallCompleted{{.id = "b", .name = "two", .arguments = {{"x", 1}}}},
                              ToolCallDelta{"a", "}"}, completed(FinishReason::tool_calls)})
                            .response();
  ASSERT_TRUE(response.has_value());
  ASSERT_EQ(response->tool_calls.size(), 2U);
  EXPECT_EQ(response->tool_calls[0].name, "two");
  EXPECT_EQ(response->tool_calls[0].arguments, Json({{"x", 1}}));
  EXPECT_EQ(response->tool_calls[1].name, "");
  EXPECT_EQ(response->tool_calls[1].raw_arguments, "{}");
}

TEST(Collector, AMissingFinishReasonKeepsThatOfTheError) {
  const auto response = fold({kStarted, delta("a"), ErrorEvent{kError}, completed(std::nullopt)}).response();
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->finish_reason, FinishReason::error);
  EXPECT_EQ(response->error, kError);
  EXPECT_EQ(response->output_text, "a");
}

TEST(Collector, AnErrorBeforeTheMessageIsTheResult) {
  const StreamCollector collector = fold({ErrorEvent{kError}});
  EXPECT_EQ(collector.response().error(), kError);
  EXPECT_EQ(collector.step_result().error(), kError);
  EXPECT_EQ(collector.chat_result().error(), kError);
  EXPECT_TRUE(collector.failed());
}

TEST(Collector, AnErrorWithinAMessageIsKeptInItEvenIfTheRunIsDropped) {
  const StreamCollector collector = fold({kStarted, delta("par"), ErrorEvent{kError}});
  EXPECT_FALSE(collector.failed());
  const auto chat = collector.chat_result();
  ASSERT_TRUE(chat.has_value());
  EXPECT_EQ(chat->halted_reason(), "error");
  EXPECT_EQ(*chat->error(), kError);
  EXPECT_EQ(chat->final_response->output_text, "par");
}

TEST(Collector, AnErrorAfterTheMessageFailsTheStep) {
  // For example, because of an unknown tool.
  const StreamCollector collector = fold({kStarted, completed(FinishReason::tool_calls), ErrorEvent{kError}});
  EXPECT_TRUE(collector.failed());
  EXPECT_EQ(collector.chat_result().error(), kError);
  EXPECT_EQ(collector.step_result().error(), kError);
}

TEST(Collector, ADroppedRunHasItsFinishedSteps) {
  const auto chat =
      fold({kStarted, completed(FinishReason::tool_calls), step_of("one"), kStarted, delta("tw")}).chat_result();
  ASSERT_TRUE(chat.has_value());
  EXPECT_EQ(chat->halted_reason(), "cancelled");
  ASSERT_EQ(chat->steps.size(), 1U);
  EXPECT_EQ(chat->thread.messages.size(), 2U);
  EXPECT_EQ(chat->final_response->output_text, "one");
  EXPECT_EQ(chat->usage.input_tokens, 1);
}

TEST(Collector, AMessageWithoutMessageStartedIsANewMessage) {
  StreamCollector collector = fold({kStarted, delta("old"), ToolCallStarted{"a", "t"}, step_of("old")});
  collector.apply(delta("new"));
  EXPECT_EQ(collector.response()->output_text, "new");
  EXPECT_TRUE(collector.response()->tool_calls.empty());
}

TEST(Collector, TheProvidersMetadataOfTheMessageAreKept) {
  const auto response = fold({kStarted, MessageCompleted{.message = assistant("x"),
                                                         .finish_reason = FinishReason::stop,
                                                         .usage = Usage{.input_tokens = 3},
                                                         .request_id = "r",
                                                         .id = "i",
                                                         .model = "m",
                                                         .raw_finish_reason = "end_turn",
                                                         .metadata = {{"k", 1}}}})
                            .response();
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->id, "i");
  EXPECT_EQ(response->model, "m");
  EXPECT_EQ(response->request_id, "r");
  EXPECT_EQ(response->raw_finish_reason, "end_turn");
  EXPECT_EQ(response->usage.input_tokens, 3);
  EXPECT_EQ(response->metadata, Json({{"k", 1}}));
}

TEST(Collector, ABatchThatWasNotReadToItsEndIsCancelled) {
  EXPECT_FALSE(fold({ToolExecutionStarted{.id = "a"}}).tool_batch().has_value());
}

TEST(Collector, AnswersWithTheSameIdBelongToTheCallsInOrder) {
  const auto batch = fold({ToolExecutionStarted{.id = "a"}, ToolExecutionStarted{.id = "a"},
                           ToolResultEncoded{"a", "first"}, ToolResultEncoded{"a", "second"}})
                         .tool_batch();
  ASSERT_TRUE(batch.has_value());
  ASSERT_EQ(batch->messages.size(), 2U);
  EXPECT_EQ(batch->messages[0].text(), "first");
  EXPECT_EQ(batch->messages[1].text(), "second");
}

}  // namespace
}  // namespace allm::collector_test
