// A provider whose answer has more tool calls, or larger ones, than a model makes: one limit for all protocols, an
// error that names it, and work that grows no faster than the answer.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "allm/chat.hpp"
#include "allm/collector.hpp"
#include "allm/fake.hpp"

#include "tests/attack/provider_answers.hpp"
#include "tests/cases.hpp"

namespace allm::attack_provider_calls_test {
namespace {

using namespace provider_attack;

std::vector<Call> calls_of(std::size_t count, const char* same_id = nullptr) {
  std::vector<Call> calls;
  for (std::size_t i = 0; i < count; ++i) calls.push_back({same_id != nullptr ? same_id : "c" + std::to_string(i)});
  return calls;
}

std::size_t calls_in(const std::vector<Event>& events) {
  const auto* message = events.empty() ? nullptr : events.back().get_if<MessageCompleted>();
  return message == nullptr ? 0 : message->message.tool_calls.size();
}

TEST(AttackProviderCalls, OneLimitHoldsForAllProtocols) {
  for_each_answer(calls_of(100), [&](const Protocol& protocol, const HttpResponseHead& head, const std::string& body,
                                     const std::string& name) {
    const std::vector<Event> events = decoded(protocol, head, body, {.max_calls = 100});
    EXPECT_EQ(calls_in(events), 100U) << name << ": " << error_in(events);
    const std::string error = error_in(decoded(protocol, head, body, {.max_calls = 99}));
    EXPECT_NE(error.find("99 tool calls (EngineOptions::answer_limits.max_calls)"), std::string::npos)
        << name << ": " << error;
  });
  // The default. Gemini had no limit.
  EXPECT_EQ(AnswerLimits().max_calls, 4'096U);
  const HttpResponseHead head{200, {{"content-type", "text/event-stream"}}};
  const std::string error = error_in(decoded(protocols()[3], head, gemini_stream(calls_of(4'097))));
  EXPECT_NE(error.find("4096 tool calls"), std::string::npos) << error;
}

// With the search for a free id that was here before, the long form of this test ran for hours.
TEST(AttackProviderCalls, ManyCallsAreDecodedFoldedAndSentBackInLinearTime) {
  const auto count = static_cast<std::size_t>(allm::testing::cases(500));
  for (const char* same_id : {static_cast<const char*>(nullptr), "same"}) {
    for_each_answer(calls_of(count, same_id), [&](const Protocol& protocol, const HttpResponseHead& head,
                                                  const std::string& body, const std::string& name) {
      const AnswerLimits all{.max_calls = count, .max_call_bytes = body.size() * 2, .max_argument_values = body.size()};
      StreamCollector collector;
      for (Event& each : decoded(protocol, head, body, all)) collector.apply(std::move(each));
      const Result<Response> response = std::move(collector).response();
      ASSERT_TRUE(response.has_value());
      ASSERT_EQ(response->tool_calls.size(), count) << name;

      AdapterCall next = call_for(protocol);
      Message asked = assistant("");
      asked.tool_calls = response->tool_calls;
      asked.metadata = response->message->metadata;
      next.request.messages.push_back(asked);
      for (const ToolCall& call : asked.tool_calls) next.request.messages.push_back(tool_result(call.id, "1"));
      EXPECT_TRUE(protocol.codec->write(next).has_value()) << name;
    });
  }
}

TEST(AttackProviderCalls, TheResultsOfManyCallsAreCollectedInLinearTime) {
  const int count = allm::testing::cases(10'000);
  StreamCollector collector;
  for (int i = 0; i < count; ++i) collector.apply(ToolExecutionStarted{.id = "c" + std::to_string(i), .name = "f"});
  for (int i = count; i-- > 0;) collector.apply(ToolResultEncoded{.id = "c" + std::to_string(i), .content = "1"});
  const Result<ToolBatch> batch = collector.tool_batch();
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->messages.size(), static_cast<std::size_t>(count));
  EXPECT_EQ(batch->messages.front().tool_call_id, "c0");
}

TEST(AttackProviderCalls, SparseAndNegativeIndexesAreOnlyNames) {
  std::string body;
  for (const char* index : {"4000000000", "-7", "9223372036854775807", "18446744073709551615", "0"}) {
    body += event(std::string(R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":)") + index + R"(,"id":"c)" +
                  index + R"(","function":{"name":"f","arguments":"{}"}}]}}]})");
  }
  body += event(R"({"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]})");
  EXPECT_EQ(calls_in(decoded(protocols()[0], {200, {{"content-type", "text/event-stream"}}}, body)), 5U);
}

// ---- the loop, for adapters that know no limits

Engine loop_over(FakeCallScript script, AnswerLimits limits = {}) {
  script.push_back(fake_finish(FinishReason::tool_calls));
  const Tool tool{.name = "f", .handler = [](const Json&) { return ok(1); }};
  return Engine({.adapter = fake({std::move(script), {fake_text("done"), fake_finish(FinishReason::stop)}}),
                 .tools = {tool},
                 .answer_limits = limits});
}

std::string end_of(const Engine& engine) {
  const Result<ChatResult> result = chat(engine, {user("hi")});
  if (!result) return result.error().message();
  return result->error() != nullptr ? result->error()->message() : std::string(result->halted_reason());
}

TEST(AttackProviderCalls, TheLoopStopsTheAnswerOfAnyAdapter) {
  FakeCallScript script;
  for (int i = 0; i < 11; ++i) script.push_back(fake_tool_call("c" + std::to_string(i), "f"));
  EXPECT_NE(end_of(loop_over(script, {.max_calls = 10})).find("10 tool calls"), std::string::npos);
  EXPECT_EQ(end_of(loop_over(script, {.max_calls = 11})), "completed");

  FakeCallScript pieces;
  for (int i = 0; i < 11; ++i) pieces.push_back(FakeToolCallDelta{"c" + std::to_string(i), "{"});
  EXPECT_NE(end_of(loop_over(pieces, {.max_calls = 10})).find("10 tool calls"), std::string::npos);

  const FakeCallScript large = {FakeToolCallDelta{"c", std::string(600, ' ')}, FakeToolCallDelta{"c", "{\"a\":1}"}};
  EXPECT_NE(end_of(loop_over(large, {.max_call_bytes = 600})).find("max_call_bytes"), std::string::npos);

  const FakeCallScript values = {fake_tool_call("c", "f", {{"list", Json(std::vector<int>(100, 0))}})};
  EXPECT_NE(end_of(loop_over(values, {.max_argument_values = 100})).find("max_argument_values"), std::string::npos);
  EXPECT_EQ(end_of(loop_over(values)), "completed");
}

TEST(AttackProviderCalls, TheLoopRunsManyCallsThatAreAnsweredAtOnce) {
  const int count = allm::testing::cases(2'000);
  FakeCallScript script;
  for (int i = 0; i < count; ++i) {
    script.push_back(FakeToolCall{.id = "c" + std::to_string(i), .name = "f", .raw_arguments = "not JSON"});
  }
  const AnswerLimits limits{.max_calls = static_cast<std::size_t>(count), .max_call_bytes = 1U << 30U};
  const Result<ChatResult> result = chat(loop_over(script, limits), {user("hi")});
  ASSERT_TRUE(result.has_value()) << result.error().message();
  EXPECT_EQ(result->steps.front().tool_results.size(), static_cast<std::size_t>(count));
}

}  // namespace
}  // namespace allm::attack_provider_calls_test
