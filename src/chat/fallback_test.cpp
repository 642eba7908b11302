// fallback(): which engine is called, when, and what the response says about it.
#include "allm/fallback.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/chat.hpp"
#include "allm/fake.hpp"
#include "allm/telemetry.hpp"

namespace allm::fallback_test {
namespace {

using Reason = AdapterError::Reason;
using std::chrono::milliseconds;

const FakeEntry kStop = fake_finish(FinishReason::stop);
FakeCallScript says(const std::string& text) { return {fake_text(text), kStop}; }
FakeCallScript fails(Reason reason) { return {fake_preflight_error(reason)}; }
const FakeCallScript kCallsTool = {fake_tool_call("c0", "good"), fake_finish(FinishReason::tool_calls)};

struct Model {
  explicit Model(FakeScript script, Json params = Json::object())
      : adapter(fake(std::move(script), {.record = true})),
        engine({.adapter = adapter,
                .model = "model-" + std::to_string(++made),
                .tools = {{.name = "good", .handler = [](const Json&) { return ok("fine"); }}},
                .params = std::move(params),
                .retry = RetryPolicy::off()}) {}
  static inline int made = 0;
  std::shared_ptr<FakeAdapter> adapter;
  Engine engine;
};

TEST(Fallback, TheFirstEngineThatWorksAnswers) {
  const Model a({says("a")});
  const Model b({});
  const auto result = chat(fallback({a.engine, b.engine}), {user("hi")});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->text(), "a");
  EXPECT_EQ(result->final_response->metadata["fallback"],
            Json({{"engine", 0}, {"provider", "fake"}, {"model", a.engine.model()->id}}));
  EXPECT_EQ(b.adapter->calls(), 0U);
}

TEST(Fallback, TheNextEngineIsCalledIfOneIsUnavailable) {
  for (const Reason reason : FallbackOptions::default_reasons()) {
    const Model a({fails(reason)});
    const Model b({says("b")});
    const auto result = chat(fallback({a.engine, b.engine}), {user("hi")});
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->text(), "b");
    EXPECT_EQ(result->final_response->metadata["fallback"]["engine"], 1);
    EXPECT_EQ(result->final_response->metadata["fallback"]["failed"][0]["engine"], 0);
    EXPECT_EQ(b.adapter->requests()[0].model->id, b.engine.model()->id);
  }
}

TEST(Fallback, OtherErrorsAreReturnedAtOnce) {
  const Model a({fails(Reason::authentication_failed)});
  const Model b({says("b")});
  const auto result = chat(fallback({a.engine, b.engine}), {user("hi")});
  ASSERT_FALSE(result.has_value());
  EXPECT_TRUE(result.error().is<AdapterError>(Reason::authentication_failed));
  EXPECT_EQ(b.adapter->calls(), 0U);
}

TEST(Fallback, ReasonsCanBeChosen) {
  const Model a({fails(Reason::context_length_exceeded)});
  const Model b({says("b")});
  const auto result = chat(fallback({a.engine, b.engine}, {.on = {Reason::context_length_exceeded}}), {user("hi")});
  EXPECT_EQ(result->text(), "b");
}

TEST(Fallback, IfAllFailTheLastErrorIsReturnedAndNamesThemAll) {
  const Model a({fails(Reason::timeout)});
  const Model b({fails(Reason::rate_limited)});
  const auto result = chat(fallback({a.engine, b.engine}), {user("hi")});
  ASSERT_FALSE(result.has_value());
  EXPECT_TRUE(result.error().is<AdapterError>(Reason::rate_limited));
  EXPECT_EQ(result.error().metadata()["fallback"]["failed"],
            Json::parse(R"([{"engine": 0, "provider": "fake", "reason": "timeout"},
                            {"engine": 1, "provider": "fake", "reason": "rate_limited"}])"));
}

TEST(Fallback, AMessageThatHasBegunIsNeverMixed) {
  const Model a({{fake_text("half"), fake_error(Reason::provider_unavailable)}});
  const Model b({says("b")});
  const auto result = chat(fallback({a.engine, b.engine}), {user("hi")});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->halted_reason(), "error");
  EXPECT_EQ(result->final_response->text(), "half");
  EXPECT_EQ(b.adapter->calls(), 0U);
}

TEST(Fallback, EachEngineRetriesByItsOwnPolicy) {
  const Model a({fails(Reason::timeout), says("a")});
  EngineOptions patient = a.engine.options();
  patient.retry = {.max_attempts = 2, .base_delay = milliseconds(0), .jitter = milliseconds(0)};
  const Model b({says("b")});
  EXPECT_EQ(chat(fallback({Engine(patient), b.engine}), {user("hi")})->text(), "a");
  EXPECT_EQ(b.adapter->calls(), 0U);
}

TEST(Fallback, ChangesBetweenTheStepsOfARun) {
  const Model a({kCallsTool, fails(Reason::provider_unavailable)});
  const Model b({says("b")});
  const auto result = chat(fallback({a.engine, b.engine}), {user("hi")});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->text(), "b");
  EXPECT_EQ(result->steps.size(), 2U);
  EXPECT_EQ(result->steps[0].tool_results.at(0).text(), "fine");
  EXPECT_EQ(b.adapter->requests()[0].request.messages.size(), 3U);
}

TEST(Fallback, EachEngineUsesItsModelSettingsAndTheFirstDefinesTheRun) {
  const Model a({fails(Reason::timeout), fails(Reason::timeout)},
                {{"temperature", 0.25}, {"top_p", 0.5}, {"max_turns", 1}});
  const Model b({kCallsTool, says("b")}, {{"temperature", 1.5}, {"max_turns", 7}, {"response_format", "text"}});
  const auto result = chat(fallback({a.engine, b.engine}), {user("hi")}, {.max_tokens = 9});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->halted_reason(), "max_turns");
  const AdapterCall first = a.adapter->requests().at(0);
  EXPECT_EQ(first.request.temperature, 0.25);
  EXPECT_EQ(first.request.options, Json({{"top_p", 0.5}}));
  EXPECT_EQ(first.request.max_tokens, 9);
  const AdapterCall second = b.adapter->requests().at(0);
  EXPECT_EQ(second.request.temperature, 1.5);
  EXPECT_EQ(second.request.options, Json::object());
  EXPECT_EQ(second.request.max_tokens, 9);
  EXPECT_FALSE(second.request.response_format.has_value());
  EXPECT_EQ(second.request.tools.at(0).name, "good");
}

TEST(Fallback, AnEngineThatCannotStreamIsAskedForWholeAnswers) {
  const Model a({fails(Reason::timeout), says("a")});
  const Model b({says("b")}, {{"stream", false}});
  const Engine engine = fallback({a.engine, b.engine}, {.cooldown = milliseconds(0)});
  ASSERT_TRUE(chat(engine, {user("hi")}).has_value());
  EXPECT_TRUE(a.adapter->requests()[0].request.stream);
  EXPECT_FALSE(b.adapter->requests()[0].request.stream);
  ASSERT_TRUE(chat(engine, {user("hi")}, {.stream = false}).has_value());
  EXPECT_FALSE(a.adapter->requests()[1].request.stream) << "the call's option applies to every engine";
}

TEST(Fallback, AModelOfTheCallAppliesToTheFirstEngine) {
  const Model a({fails(Reason::timeout)});
  const Model b({says("b")});
  ASSERT_TRUE(chat(fallback({a.engine, b.engine}), {user("hi")}, {.model = "mine"}).has_value());
  EXPECT_EQ(a.adapter->requests()[0].model->id, "mine");
  EXPECT_EQ(b.adapter->requests()[0].model->id, b.engine.model()->id);
}

TEST(Fallback, AnEngineThatFailedIsCalledLastForAWhile) {
  const Model a({fails(Reason::timeout), says("a")});
  const Model b({says("b"), says("b again")});
  auto time = std::make_shared<std::chrono::steady_clock::time_point>();
  const Engine engine = fallback({a.engine, b.engine}, {.cooldown = milliseconds(10), .now = [time] { return *time; }});
  EXPECT_EQ(chat(engine, {user("hi")})->text(), "b");
  *time += milliseconds(9);
  EXPECT_EQ(chat(engine, {user("hi")})->text(), "b again");
  EXPECT_EQ(a.adapter->calls(), 1U);
  *time += milliseconds(1);
  EXPECT_EQ(chat(engine, {user("hi")})->text(), "a");
}

TEST(Fallback, EnginesThatFailedAreStillCalledIfNoOtherIsLeft) {
  const Model a({fails(Reason::timeout), says("a")});
  const Model b({fails(Reason::timeout), fails(Reason::timeout)});
  const Engine engine = fallback({a.engine, b.engine});
  EXPECT_FALSE(chat(engine, {user("hi")}).has_value());
  EXPECT_EQ(chat(engine, {user("hi")})->text(), "a");
}

TEST(Fallback, TelemetryNamesTheModelThatAnswered) {
  const auto sink = std::make_shared<CollectingTelemetry>();
  const Model a({fails(Reason::timeout)});
  const Model b({says("b")});
  EngineOptions watched_a = a.engine.options();
  EngineOptions watched_b = b.engine.options();
  watched_a.telemetry = sink;
  watched_b.telemetry = sink;
  ASSERT_TRUE(chat(fallback({Engine(watched_a), Engine(watched_b)}), {user("hi")}).has_value());
  EXPECT_EQ(sink->tree(),
            "chat\n"
            "  step\n"
            "    generate\n"
            "      stream\n"
            "    generate " +
                a.engine.model()->id + ": timeout\n      stream: timeout\n" + "    generate " + b.engine.model()->id +
                "\n      stream\n");
}

TEST(Fallback, OfNoEnginesIsAnEngineWithoutAnAdapter) {
  EXPECT_TRUE(chat(fallback({}), {user("hi")}).error().is<EngineError>(EngineError::Reason::missing_adapter));
}

}  // namespace
}  // namespace allm::fallback_test
