// Cancels runs at every point, from every thread and in every mode.
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "allm/telemetry.hpp"

#include "tests/run_control_rig.hpp"

namespace allm::cancel_test {
namespace {

using testing::can_go_on;
using testing::Form;
using testing::Gate;
using testing::kAnswer;
using testing::kGood;
using testing::kHangs;
using testing::kRunTools;
using testing::reasons_of;
using testing::run_in;
using testing::Stubborn;
using testing::usual_tools;
using testing::with_usual;

using Reasons = std::vector<std::string>;

struct Stops {
  std::stop_source now;
  std::stop_source after_tools;
  std::stop_source after_step;
  CallOptions options() const {
    CallOptions made;
    made.cancel = {
        .now = now.get_token(), .after_tools = after_tools.get_token(), .after_step = after_step.get_token()};
    return made;
  }
  std::vector<std::stop_source> all() const { return {now, after_tools, after_step}; }
};

// Calls `act` on another thread once `when` returns.
template <class When, class Act>
std::jthread once(const When& when, Act act) {
  return std::jthread([&when, act = std::move(act)]() mutable {
    when();
    act();
  });
}

Engine engine_of(FakeScript script) { return Engine({.adapter = fake(std::move(script)), .tools = usual_tools()}); }

// Signals that a run waits for a retry.
class RetryWatch : public Telemetry {
 public:
  void on_event(const TelemetryEvent& event) override {
    if (event.phase == SpanPhase::retry) waiting.open();
  }
  Gate waiting;
};

class Cancel : public ::testing::TestWithParam<Form> {};
INSTANTIATE_TEST_SUITE_P(Forms, Cancel, ::testing::Values(Form::folded, Form::streamed), testing::name_of);

TEST_P(Cancel, DuringAModelStreamWithdrawsTheStep) {
  for (const bool strictly : {true, false}) {
    Stops stops;
    Gate begun;
    CallOptions options = stops.options();
    options.on_event = [&](const Event& event) {
      if (event.tag() == EventTag::text_delta) begun.open();
    };
    const auto adapter = fake({kHangs});
    const auto wait = [&] { begun.wait(); };
    const std::jthread canceller =
        once(wait, [stop = strictly ? stops.now : stops.after_tools]() mutable { stop.request_stop(); });
    const ChatResult result = run_in(GetParam(), Engine({.adapter = adapter}), {user("hi")}, options);
    EXPECT_EQ(result.halted_reason(), "cancelled");
    EXPECT_TRUE(result.steps.empty());
    EXPECT_FALSE(result.final_response.has_value());
    EXPECT_EQ(result.thread, Thread{user("hi")});
    EXPECT_EQ(result.full_metadata(), Json::object());
    EXPECT_EQ(adapter->closed(), 1U);
    EXPECT_TRUE(can_go_on(result.thread));
  }
}

TEST_P(Cancel, KeepsTheStepsThatWereFinished) {
  Stops stops;
  CallOptions options = stops.options();
  options.on_event = [&](const Event& event) {
    if (event.tag() == EventTag::text_delta) stops.now.request_stop();  // on the consumer's thread
  };
  const ChatResult result = run_in(GetParam(), engine_of({kGood, kHangs}), {user("hi")}, options);
  EXPECT_EQ(result.halted_reason(), "cancelled");
  ASSERT_EQ(result.steps.size(), 1U);
  EXPECT_EQ(result.thread, result.steps[0].thread);
  EXPECT_EQ(result.final_response, result.steps[0].response);
  EXPECT_TRUE(can_go_on(result.thread));
}

TEST_P(Cancel, AfterTheStepLetsItFinish) {
  Stops stops;
  CallOptions options = stops.options();
  options.on_event = [&](const Event& event) {
    if (event.tag() == EventTag::text_delta) stops.after_step.request_stop();
  };
  const FakeCallScript turn = {fake_text("I look"), fake_tool_call("c0", "good"), fake_tool_call("c1", "bad"),
                               kRunTools};
  const ChatResult result = run_in(GetParam(), engine_of({turn, kAnswer}), {user("hi")}, options);
  EXPECT_EQ(result.halted_reason(), "cancelled");
  ASSERT_EQ(result.steps.size(), 1U);
  EXPECT_EQ(reasons_of(result.steps[0]).at(0), "fine");
  EXPECT_FALSE(result.steps[0].full_metadata().contains("halted_reason"));
  EXPECT_TRUE(can_go_on(result.thread));
}

TEST_P(Cancel, AStepThatEndsTheRunKeepsItsReason) {
  const auto ended = [&](FakeCallScript script) {
    Stops stops;
    CallOptions options = stops.options();
    options.on_event = [&](const Event& event) {
      if (event.tag() == EventTag::message_completed) stops.after_step.request_stop();
    };
    const auto result = chat(engine_of({std::move(script)}), {user("hi")}, options);
    return result ? result->halted_reason() : "failed";
  };
  EXPECT_EQ(ended(kAnswer), "completed");
  EXPECT_EQ(ended({fake_tool_call("c0", "halts"), kRunTools}), "own");
  EXPECT_EQ(ended({fake_tool_call("c0", "manual"), kRunTools}), "manual_tool_calls");
}

TEST_P(Cancel, NowStopsToolsThatRunAndRunsNoMore) {
  Stops stops;
  const Stubborn stubborn;
  const FakeCallScript turn = {fake_tool_call("c0", "stubborn"), fake_tool_call("c1", "stubborn"),
                               fake_tool_call("c2", "stubborn"), fake_tool_call("c3", "manual"), kRunTools};
  const Engine engine({.adapter = fake({turn, kAnswer}), .tools = with_usual(stubborn.tool())});
  CallOptions options = stops.options();
  options.max_concurrency = 2;
  options.on_tool_error = ToolErrorAction::halt;
  const auto wait = [&] { stubborn.entered->wait_for(2); };
  ChatResult result;
  {
    const std::jthread canceller = once(wait, [&] { stops.now.request_stop(); });
    result = run_in(GetParam(), engine, {user("hi")}, options);
  }
  EXPECT_EQ(result.halted_reason(), "cancelled");
  ASSERT_EQ(result.steps.size(), 1U);
  EXPECT_EQ(reasons_of(result.steps[0]), (Reasons{"cancelled", "cancelled", "not_run", "not_run"}));
  EXPECT_TRUE(result.steps[0].done);
  EXPECT_TRUE(result.steps[0].manual_tool_calls().empty());
  EXPECT_EQ(result.steps[0].full_metadata(), Json({{"halted_reason", "cancelled"}}));
  EXPECT_TRUE(can_go_on(result.thread));
  stubborn.may_end->open();
  stubborn.asked_to_stop->wait_for(2);
  EXPECT_EQ(stubborn.entered->value(), 2U);
}

TEST_P(Cancel, AfterToolsWaitsForRunningTools) {
  Stops stops;
  const Stubborn stubborn;
  const FakeCallScript turn = {fake_tool_call("c0", "stubborn"), fake_tool_call("c1", "stubborn"),
                               fake_tool_call("c2", "good"), kRunTools};
  const Engine engine({.adapter = fake({turn, kAnswer}), .tools = with_usual(stubborn.tool())});
  CallOptions options = stops.options();
  options.max_concurrency = 2;
  const auto wait = [&] { stubborn.entered->wait_for(2); };
  const std::jthread canceller = once(wait, [&] {
    stops.after_tools.request_stop();
    stubborn.may_end->open();
  });
  const ChatResult result = run_in(GetParam(), engine, {user("hi")}, options);
  EXPECT_EQ(result.halted_reason(), "cancelled");
  ASSERT_EQ(result.steps.size(), 1U);
  EXPECT_EQ(reasons_of(result.steps[0]), (Reasons{"late", "late", "not_run"}));
  EXPECT_TRUE(can_go_on(result.thread));
}

TEST_P(Cancel, CanBecomeStricter) {
  Stops stops;
  const Stubborn stubborn;
  const FakeCallScript turn = {fake_tool_call("c0", "stubborn"), fake_tool_call("c1", "good"), kRunTools};
  const Engine engine({.adapter = fake({turn, kAnswer}), .tools = with_usual(stubborn.tool())});
  CallOptions options = stops.options();
  options.max_concurrency = 1;
  const auto wait = [&] { stubborn.entered->wait_for(1); };
  const std::jthread canceller = once(wait, [&] {
    for (std::stop_source stop : {stops.after_step, stops.after_tools, stops.now}) {
      stop.request_stop();
      stop.request_stop();
    }
  });
  const ChatResult result = run_in(GetParam(), engine, {user("hi")}, options);
  EXPECT_EQ(result.halted_reason(), "cancelled");
  ASSERT_EQ(result.steps.size(), 1U);
  EXPECT_EQ(reasons_of(result.steps[0]), (Reasons{"cancelled", "not_run"}));
  stops.after_step.request_stop();
  stubborn.may_end->open();
}

TEST_P(Cancel, EndsTheWaitForARetry) {
  for (const bool strictly : {true, false}) {
    Stops stops;
    const auto adapter = fake({{fake_preflight_error(AdapterError::Reason::rate_limited)}, kAnswer});
    const auto watch = std::make_shared<RetryWatch>();
    const Engine engine({.adapter = adapter, .retry = {.base_delay = std::chrono::hours(1)}, .telemetry = watch});
    const auto wait = [&] { watch->waiting.wait(); };
    const std::jthread canceller =
        once(wait, [stop = strictly ? stops.now : stops.after_tools]() mutable { stop.request_stop(); });
    const ChatResult result = run_in(GetParam(), engine, {user("hi")}, stops.options());
    EXPECT_EQ(result.halted_reason(), "cancelled");
    EXPECT_EQ(result.thread, Thread{user("hi")});
    EXPECT_EQ(adapter->calls(), 1U);
  }
}

TEST_P(Cancel, BeforeTheStartSendsNoRequest) {
  for (std::size_t i = 0; i < 3; ++i) {
    Stops stops;
    stops.all()[i].request_stop();
    const auto adapter = fake({kAnswer});
    const ChatResult result = run_in(GetParam(), Engine({.adapter = adapter}), {user("hi")}, stops.options());
    EXPECT_EQ(result.halted_reason(), "cancelled");
    EXPECT_EQ(result.thread, Thread{user("hi")});
    EXPECT_EQ(adapter->calls(), 0U);
    EXPECT_FALSE(generate(Engine({.adapter = adapter}), {.messages = {user("hi")}}, stops.options()).has_value());
    EXPECT_FALSE(step(Engine({.adapter = adapter}), {user("hi")}, stops.options()).has_value());
    EXPECT_EQ(adapter->calls(), 0U);
  }
}

TEST_P(Cancel, MayBeRequestedByACallbackOfTheRun) {
  Stops stops;
  CallOptions options = stops.options();
  options.halt_when = [&](const StepResult&) {
    stops.after_step.request_stop();
    return false;
  };
  const ChatResult result = run_in(GetParam(), engine_of({kGood, kGood, kAnswer}), {user("hi")}, options);
  EXPECT_EQ(result.halted_reason(), "cancelled");
  EXPECT_EQ(result.steps.size(), 1U);
}

TEST_P(Cancel, PreventsTheSecondPass) {
  Stops stops;
  CallOptions options = stops.options();
  options.structured_finalize = true;
  options.response_format = ResponseFormat::json_object();
  options.on_event = [&](const Event& event) {
    if (event.tag() == EventTag::tool_execution_started) stops.after_step.request_stop();
  };
  const auto adapter = fake({kGood, kAnswer, kAnswer});
  const Engine engine({.adapter = adapter, .tools = usual_tools()});
  const ChatResult result = run_in(GetParam(), engine, {user("hi")}, options);
  EXPECT_EQ(result.halted_reason(), "cancelled");
  EXPECT_EQ(adapter->calls(), 1U);
}

TEST_P(Cancel, OfTheSecondPassKeepsTheFirst) {
  Stops stops;
  CallOptions options = stops.options();
  options.structured_finalize = true;
  options.response_format = ResponseFormat::json_object();
  options.on_event = [&](const Event& event) {
    const auto* delta = event.get_if<TextDelta>();
    if (delta != nullptr && delta->delta == "begun") stops.now.request_stop();
  };
  const ChatResult result = run_in(GetParam(), engine_of({kAnswer, kHangs}), {user("hi")}, options);
  EXPECT_EQ(result.halted_reason(), "cancelled");
  EXPECT_EQ(result.text(), "answer");
  EXPECT_EQ(result.thread.messages.size(), 2U);
}

TEST(CancelledStream, WakesTheWaitingConsumer) {
  Stops stops;
  EventStream events = stream(engine_of({kHangs}), {user("hi")}, stops.options());
  std::atomic<int> woken = 0;
  const Waker waker([&] { ++woken; });
  Poll polled = events.poll(waker);
  while (polled.has_event()) polled = events.poll(waker);
  ASSERT_TRUE(polled.is_pending());
  EXPECT_EQ(woken, 0);
  stops.now.request_stop();
  EXPECT_EQ(woken, 1);
  polled = events.poll(waker);
  ASSERT_TRUE(polled.has_event());
  EXPECT_EQ(polled.event().tag(), EventTag::chat_completed);
  EXPECT_TRUE(events.poll(waker).is_end());
}

TEST(CancelledStream, MayBeDroppedWhileItIsCancelled) {
  for (int i = 0; i < 200; ++i) {
    Stops stops;
    auto events = std::make_unique<EventStream>(stream(engine_of({kHangs}), {user("hi")}, stops.options()));
    while (events->try_next().has_event()) {
    }
    const std::jthread canceller([&] { stops.now.request_stop(); });
    events.reset();
  }
}

TEST(CancelledGenerate, FailsWithAStreamError) {
  Stops stops;
  const FakeCallScript silent = {fake_delay(std::chrono::hours(1)), fake_text("x")};
  EventStream events = stream_generate(engine_of({silent}), {.messages = {user("hi")}}, stops.options());
  while (events.try_next().has_event()) {
  }
  stops.now.request_stop();
  const auto event = events.next();
  ASSERT_TRUE(event.has_event());
  ASSERT_NE(event->get_if<ErrorEvent>(), nullptr);
  EXPECT_TRUE(event->get_if<ErrorEvent>()->error.is<StreamError>(StreamError::Reason::cancelled));
  EXPECT_FALSE(events.next().has_event());
}

TEST(CancelledGenerate, KeepsTheTextOfTheMessage) {
  Stops stops;
  CallOptions options = stops.options();
  options.on_event = [&](const Event& event) {
    if (event.tag() == EventTag::text_delta) stops.after_tools.request_stop();
  };
  const auto response = generate(engine_of({kHangs}), {.messages = {user("hi")}}, options);
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->finish_reason, FinishReason::error);
  EXPECT_EQ(response->output_text, "begun");
  EXPECT_TRUE(response->error->is<StreamError>(StreamError::Reason::cancelled));
}

TEST(CancelledStep, FailsDuringTheModelCall) {
  Stops stops;
  CallOptions options = stops.options();
  options.on_event = [&](const Event& event) {
    if (event.tag() == EventTag::text_delta) stops.now.request_stop();
  };
  const auto result = step(engine_of({kHangs}), {user("hi")}, options);
  ASSERT_FALSE(result.has_value());
  EXPECT_TRUE(result.error().is<StreamError>(StreamError::Reason::cancelled));
}

TEST(CancelledStep, IsDoneWhenItsToolsAreCancelled) {
  Stops stops;
  CallOptions options = stops.options();
  options.max_concurrency = 1;
  options.on_event = [&](const Event& event) {
    if (event.tag() == EventTag::tool_execution_started) stops.after_tools.request_stop();
  };
  const FakeCallScript turn = {fake_tool_call("c0", "good"), fake_tool_call("c1", "good"), kRunTools};
  const auto result = step(engine_of({turn}), {user("hi")}, options);
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(result->done);
  EXPECT_EQ(result->full_metadata(), Json({{"halted_reason", "cancelled"}}));
  EXPECT_EQ(reasons_of(*result), (Reasons{"fine", "not_run"}));
  EXPECT_TRUE(validate(result->thread).has_value());
}

TEST(CancelledStep, LeavesNoManualCallPending) {
  Stops stops;
  CallOptions options = stops.options();
  options.on_event = [&](const Event& event) {
    if (event.tag() == EventTag::message_completed) stops.now.request_stop();
  };
  const auto result = step(engine_of({{fake_tool_call("c0", "manual"), kRunTools}}), {user("hi")}, options);
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(result->manual_tool_calls().empty());
  EXPECT_EQ(reasons_of(*result), (Reasons{"not_run"}));
}

}  // namespace
}  // namespace allm::cancel_test
