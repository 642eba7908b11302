// Sessions after approval, reached limits and cancellation.
#include <chrono>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "allm/session_ops.hpp"

#include "tests/run_control_rig.hpp"

namespace allm::run_control_test {
namespace {

using testing::kAnswer;
using testing::kGood;
using testing::kHangs;
using testing::kRunTools;
using testing::reason_of;
using testing::usual_tools;

Engine engine_of(FakeScript script) { return Engine({.adapter = fake(std::move(script)), .tools = usual_tools()}); }

void expect_to_go_on(const Session& session) {
  EXPECT_TRUE(validate(session).has_value());
  const auto turn = session_reply(engine_of({kAnswer}), session, "and now?");
  ASSERT_TRUE(turn.has_value()) << turn.error().message();
  EXPECT_EQ(turn->session.status, SessionStatus::completed);
  EXPECT_EQ(turn->session.thread.messages.size(), session.thread.messages.size() + 2);
}

TEST(SessionApproval, ASuspendedCallIsAnsweredLikeAManualOne) {
  CallOptions options;
  options.approve = [](std::span<const ToolCall> calls) { return std::vector(calls.size(), Approval::suspend()); };
  const Engine engine = engine_of({kGood, kAnswer});
  const auto turn = session_reply(engine, Session{}, "hi", options);
  ASSERT_TRUE(turn.has_value());
  EXPECT_EQ(turn->session.status, SessionStatus::awaiting_tools);
  ASSERT_EQ(turn->session.pending_tool_calls.size(), 1U);
  EXPECT_EQ(turn->session.pending_tool_calls[0].name, "good");
  const auto answered = submit_tool_result(turn->session, "c0", "by a person");
  ASSERT_TRUE(answered.has_value());
  const auto after = session_continue(engine, *answered, std::nullopt, options);
  ASSERT_TRUE(after.has_value());
  EXPECT_EQ(after->session.status, SessionStatus::completed);
  EXPECT_EQ(after->session.thread.messages[2].text(), "by a person");
}

TEST(SessionApproval, ADeniedCallLeavesTheSessionRunning) {
  CallOptions options;
  options.approve = [](std::span<const ToolCall> calls) { return std::vector(calls.size(), Approval::deny("no")); };
  SessionStream events = session_stream_reply(engine_of({kGood, kAnswer}), Session{}, "hi", options);
  const auto turn = events.finish();
  ASSERT_TRUE(turn.has_value());
  EXPECT_EQ(turn->session.status, SessionStatus::completed);
  EXPECT_EQ(reason_of(turn->session.thread.messages[2]), "denied");
  expect_to_go_on(turn->session);
}

TEST(SessionCancellation, LeavesItIdleWithTheFinishedSteps) {
  std::stop_source stop;
  CallOptions options;
  options.cancel.now = stop.get_token();
  options.on_event = [&](const Event& event) {
    if (event.tag() == EventTag::text_delta) stop.request_stop();
  };
  const auto turn = session_reply(engine_of({kGood, kHangs}), Session{}, "hi", options);
  ASSERT_TRUE(turn.has_value());
  EXPECT_EQ(turn->result.halted_reason(), "cancelled");
  EXPECT_EQ(turn->session.status, SessionStatus::idle);
  EXPECT_EQ(turn->session.thread.messages.size(), 3U);
  expect_to_go_on(turn->session);
}

TEST(SessionCancellation, BeforeTheStartKeepsTheMessage) {
  std::stop_source stop;
  stop.request_stop();
  CallOptions options;
  options.cancel.after_step = stop.get_token();
  SessionStream events = session_stream_reply(engine_of({kAnswer}), Session{}, "hi", options);
  const auto turn = events.finish();
  ASSERT_TRUE(turn.has_value());
  EXPECT_EQ(turn->session.status, SessionStatus::idle);
  EXPECT_EQ(turn->session.thread, Thread{user("hi")});
}

TEST(SessionCancellation, OfAStepLeavesItIdle) {
  std::stop_source stop;
  CallOptions options{.max_concurrency = 1};
  options.cancel.after_tools = stop.get_token();
  options.on_event = [&](const Event& event) {
    if (event.tag() == EventTag::tool_execution_started) stop.request_stop();
  };
  const FakeCallScript turn = {fake_tool_call("c0", "good"), fake_tool_call("c1", "good"), kRunTools};
  const auto stepped = session_step(engine_of({turn}), Session{.thread = {user("hi")}}, options);
  ASSERT_TRUE(stepped.has_value());
  EXPECT_EQ(stepped->session.status, SessionStatus::idle);
  EXPECT_EQ(stepped->session.thread.messages.size(), 4U);
  expect_to_go_on(stepped->session);
}

TEST(SessionBudget, LeavesItCompleted) {
  for (const CallOptions& options : {CallOptions{.max_cost = 1.0}, CallOptions{.max_total_tokens = 1}}) {
    const Engine engine(
        {.adapter = fake({kGood, kAnswer}, {.usage = Usage{.total_tokens = 5}}), .tools = usual_tools()});
    const auto turn = session_reply(engine, Session{}, "hi", options);
    ASSERT_TRUE(turn.has_value());
    EXPECT_EQ(turn->result.steps.size(), 1U);
    EXPECT_EQ(turn->session.status, SessionStatus::completed);
    expect_to_go_on(turn->session);
  }
}

TEST(SessionBudget, ARunTimeoutKeepsTheMessage) {
  const auto turn = session_reply(engine_of({kHangs}), Session{}, "hi", {.run_timeout = std::chrono::milliseconds(5)});
  ASSERT_TRUE(turn.has_value());
  EXPECT_EQ(turn->result.halted_reason(), "run_timeout");
  EXPECT_EQ(turn->session.status, SessionStatus::completed);
  EXPECT_EQ(turn->session.thread, Thread{user("hi")});
  expect_to_go_on(turn->session);
}

}  // namespace
}  // namespace allm::run_control_test
