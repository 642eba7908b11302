// The stock hooks of prepare_step: which part of a long conversation the model sees.
#include "allm/steps.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/chat.hpp"
#include "allm/fake.hpp"
#include "allm/telemetry.hpp"

namespace allm::steps_test {
namespace {

using Texts = std::vector<std::string>;

Message calls(const std::string& id) {
  Message message = assistant("");
  message.tool_calls = {{.id = id, .name = "look"}};
  return message;
}
Texts texts_of(const MessageList& messages) {
  Texts texts;
  for (const Message& message : messages) texts.push_back(std::string(to_string(message.role)) + ":" + message.text());
  return texts;
}
// The texts that are sent to the model with the hook.
Texts seen(const PrepareStep& hook, const Thread& thread) {
  const auto adapter = fake({{fake_text("x"), fake_finish(FinishReason::stop)}}, {.record = true});
  CallOptions options;
  options.prepare_step = hook;
  const auto result = chat(Engine({.adapter = adapter}), thread, options);
  EXPECT_TRUE(result.has_value()) << result.error().message();
  return texts_of(adapter->requests().at(0).request.messages);
}
const Thread kTwoCalls = {system("s"),           user("task"), calls("a"),
                          tool_result("a", "1"), calls("b"),   tool_result("b", "2")};

TEST(KeepLast, KeepsSystemMessagesTheTaskAndTheEnd) {
  EXPECT_EQ(seen(keep_last(2), kTwoCalls), (Texts{"system:s", "user:task", "assistant:", "tool:2"}));
}

TEST(KeepLast, KeepsMoreRatherThanSeparateACallFromItsResult) {
  EXPECT_EQ(seen(keep_last(1), kTwoCalls), (Texts{"system:s", "user:task", "assistant:", "tool:2"}));
  EXPECT_EQ(seen(keep_last(3), kTwoCalls).size(), 6U);
}

TEST(KeepLast, AddsNoUserMessageIfTheKeptPartBeginsWithOne) {
  const Thread thread = {user("old"), assistant("o"), user("new"), assistant("n"), user("newest")};
  EXPECT_EQ(seen(keep_last(3), thread), (Texts{"user:new", "assistant:n", "user:newest"}));
}

TEST(DropOldToolResults, ReplacesTheOldestByANote) {
  const std::string big(100, 'x');
  const Thread thread = {user("task"),          calls("a"), tool_result("a", big), calls("b"),
                         tool_result("b", big), calls("c"), tool_result("c", big)};
  EXPECT_EQ(seen(drop_old_tool_results(200), thread),
            (Texts{"user:task", "assistant:", "tool:[old result of 100 bytes left out]", "assistant:", "tool:" + big,
                   "assistant:", "tool:" + big}));
}

TEST(DropOldToolResults, KeepsResultsThatTheModelHasNotSeen) {
  const std::string big(100, 'x');
  EXPECT_EQ(seen(drop_old_tool_results(0), {user("t"), calls("a"), tool_result("a", big)}),
            (Texts{"user:t", "assistant:", "tool:" + big}));
}

// --- compact ---

struct Long {
  Thread thread = {system("s"), user("first"), assistant("one"), user("second"), assistant("two"), user("third")};
  std::shared_ptr<FakeAdapter> summariser = fake({{fake_text("in short"), fake_finish(FinishReason::stop)},
                                                  {fake_text("in shorter"), fake_finish(FinishReason::stop)}},
                                                 {.usage = Usage{.total_tokens = 30}, .record = true});
  PrepareStep hook = compact({.over_bytes = 12}, Engine({.adapter = summariser}), {.keep_last = 1});
};

TEST(Compact, ReplacesOlderMessagesByASummary) {
  const Long l;
  EXPECT_EQ(seen(l.hook, l.thread),
            (Texts{"system:s", "user:Summary of the conversation so far:\nin short", "user:third"}));
  EXPECT_EQ(l.summariser->requests().at(0).request.messages[1].text(),
            "user: first\nassistant: one\nuser: second\nassistant: two\n");
}

TEST(Compact, DoesNotChangeAShortConversation) {
  const Long l;
  EXPECT_EQ(seen(l.hook, {user("short")}), Texts{"user:short"});
  EXPECT_EQ(l.summariser->calls(), 0U);
}

TEST(Compact, CountsEstimatedTokens) {
  const Long l;
  const PrepareStep hook = compact({.over_tokens = 3}, Engine({.adapter = l.summariser}), {.keep_last = 1});
  seen(hook, {user("twelve bytes")});
  EXPECT_EQ(l.summariser->calls(), 0U);
  seen(hook, l.thread);
  EXPECT_EQ(l.summariser->calls(), 1U);
}

TEST(Compact, AsksOnceForTheSameMessages) {
  Long l;
  l.hook = compact({.over_bytes = 12}, Engine({.adapter = l.summariser}), {.keep_last = 3});
  seen(l.hook, l.thread);
  EXPECT_EQ(seen(l.hook, l.thread), (Texts{"system:s", "user:Summary of the conversation so far:\nin short",
                                           "user:second", "assistant:two", "user:third"}));
  EXPECT_EQ(l.summariser->calls(), 1U);
}

TEST(Compact, ALaterSummaryCoversTheEarlierOne) {
  Long l;
  seen(l.hook, l.thread);
  l.thread.messages.push_back(assistant("three"));
  l.thread.messages.push_back(user("fourth"));
  EXPECT_EQ(seen(l.hook, l.thread).at(1), "user:Summary of the conversation so far:\nin shorter");
  const std::string asked = l.summariser->requests().at(1).request.messages[1].text();
  EXPECT_EQ(asked, "Summary of what came before:\nin short\n\nuser: third\nassistant: three\n");
}

TEST(Compact, TheSummaryCountsInTheRunsUsage) {
  const Long l;
  CallOptions options;
  options.prepare_step = l.hook;
  const Engine engine(
      {.adapter = fake({{fake_text("x"), fake_finish(FinishReason::stop)}}, {.usage = Usage{.total_tokens = 5}})});
  EXPECT_EQ(chat(engine, l.thread, options)->usage.total_tokens, 35);
}

TEST(Compact, AFailedSummaryIsTheStepsError) {
  const Long l;
  CallOptions options;
  options.prepare_step =
      compact({.over_bytes = 1},
              Engine({.adapter = fake({{fake_preflight_error(AdapterError::Reason::authentication_failed)}})}),
              {.keep_last = 1});
  const auto result = chat(Engine({.adapter = fake({})}), l.thread, options);
  ASSERT_FALSE(result.has_value());
  EXPECT_TRUE(result.error().is<AdapterError>(AdapterError::Reason::authentication_failed));
}

TEST(Compact, TheSummaryIsPartOfTheRunsTrace) {
  const Long l;
  const auto sink = std::make_shared<CollectingTelemetry>();
  CallOptions options;
  const Engine engine({.adapter = fake({{fake_finish(FinishReason::stop)}}), .telemetry = sink});
  options.prepare_step =
      compact({.over_bytes = 12}, Engine({.adapter = l.summariser, .telemetry = sink}), {.keep_last = 1});
  ASSERT_TRUE(chat(engine, l.thread, options).has_value());
  EXPECT_EQ(sink->tree(),
            "chat\n"
            "  step\n"
            "    generate\n"
            "      stream\n"
            "    generate\n"
            "      stream\n");
}

// --- then ---

TEST(Then, TheSecondSeesTheViewOfTheFirst) {
  const Long l;
  EXPECT_EQ(seen(then(keep_last(3), keep_last(1)), l.thread), (Texts{"system:s", "user:third"}));
  EXPECT_EQ(seen(then(l.hook, keep_last(1)), l.thread), (Texts{"system:s", "user:third"}));
  EXPECT_EQ(l.summariser->calls(), 1U);
}

TEST(Then, TheSettingsOfTheSecondTakePrecedence) {
  const auto adapter = fake({{fake_finish(FinishReason::stop)}}, {.record = true});
  CallOptions options;
  options.prepare_step = then([](const StepView&) { return StepPlan{.model = "a", .max_tokens = 3}; },
                              [](const StepView&) { return StepPlan{.model = "b"}; });
  ASSERT_TRUE(chat(Engine({.adapter = adapter}), {user("hi")}, options).has_value());
  EXPECT_EQ(adapter->requests()[0].model->id, "b");
  EXPECT_EQ(adapter->requests()[0].request.max_tokens, 3);
}

TEST(Then, AnErrorOfTheFirstEndsTheStep) {
  bool asked = false;
  CallOptions options;
  options.prepare_step = then(
      [](const StepView&) -> PlannedStep {
        return std::unexpected(Error(EngineError{.reason = EngineError::Reason::invalid_engine}, "no"));
      },
      [&](const StepView&) {
        asked = true;
        return StepPlan{};
      });
  EXPECT_FALSE(chat(Engine({.adapter = fake({})}), {user("hi")}, options).has_value());
  EXPECT_FALSE(asked);
}

}  // namespace
}  // namespace allm::steps_test
