// Approving suspended calls: they run, and the session continues.
#include "allm/approve.hpp"

#include <chrono>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "allm/serialize.hpp"
#include "allm/session_ops.hpp"
#include "allm/telemetry.hpp"

#include "tests/run_control_rig.hpp"

namespace allm::approve_test {
namespace {

using testing::Form;
using testing::kAnswer;
using testing::kRunTools;
using testing::reason_of;

using Calls = std::span<const ToolCall>;
using Strings = std::vector<std::string>;

// Tools that record their calls, and a gate that suspends all calls and counts how often it is called.
class Bench {
 public:
  Engine engine(FakeScript script, EngineOptions options = {}) const {
    options.adapter = fake(std::move(script));
    options.tools = tools();
    options.approve = [asked = asked_](Calls calls) {
      ++*asked;
      return std::vector(calls.size(), Approval::suspend());
    };
    return Engine(std::move(options));
  }
  Engine engine_without_gate(FakeScript script) const {
    return Engine({.adapter = fake(std::move(script)), .tools = tools()});
  }
  // A session whose turn left these calls pending; written to JSON and read again.
  Session suspended(std::vector<FakeEntry> calls) const {
    calls.push_back(kRunTools);
    const auto turn =
        session_reply(engine({std::move(calls)}), {.id = "s-1", .context = {{"account", 7}}}, "pay my bills");
    EXPECT_EQ(turn->session.status, SessionStatus::awaiting_tools);
    *asked_ = 0;
    return from_json<Session>(*to_json(turn->session)).value();
  }
  Strings ran() const {
    const std::lock_guard lock(log_->mutex);
    return log_->lines;
  }
  int asked() const { return *asked_; }

 private:
  struct Log {
    std::mutex mutex;
    Strings lines;
  };
  std::vector<Tool> tools() const {
    const auto record = [log = log_](const Json& arguments, const ToolContext& context) {
      const std::lock_guard lock(log->mutex);
      log->lines.push_back(context.tool_call().id + " " + arguments.dump() + " " + context.session_id().value_or("") +
                           " " + context.context().dump());
      return ok({{"sent", arguments.value("n", 0)}});
    };
    const Json schema = Json::parse(R"({"type":"object","properties":{"n":{"type":"integer"}}})");
    return {{.name = "send", .schema = schema, .handler = record},
            {.name = "bad", .handler = [](const Json&) { return failure("broken"); }},
            {.name = "asks", .handler = [](const Json&) { return ask_user("sure?"); }},
            {.name = "halts", .handler = [](const Json&) { return halt("own", 1); }},
            {.name = "manual", .manual = true}};
  }
  std::shared_ptr<Log> log_ = std::make_shared<Log>();
  std::shared_ptr<int> asked_ = std::make_shared<int>(0);  // the gate is called on the test's thread
};

FakeEntry send(const std::string& id, int n) { return fake_tool_call(id, "send", {{"n", n}}); }
CallDecision allow(const std::string& id) { return {id, Approval::allow()}; }

Strings answers_of(const Thread& thread) {
  Strings answers;
  for (const Message& message : thread.messages) {
    if (message.role == Role::tool) answers.push_back(*message.tool_call_id + " " + reason_of(message));
  }
  return answers;
}
Strings ids_of(const Session& session) {
  Strings ids;
  for (const PendingToolCall& call : session.pending_tool_calls) {
    ids.push_back(call.id + " " + std::string(to_string(call.kind)));
  }
  return ids;
}

class SessionApprove : public ::testing::TestWithParam<Form> {
 protected:
  static Result<SessionTurn> decide(const Engine& engine, const Session& session, std::vector<CallDecision> decisions,
                                    const CallOptions& options = {}) {
    if (GetParam() == Form::folded) return session_approve(engine, session, std::move(decisions), options);
    SessionStream events = session_stream_approve(engine, session, std::move(decisions), options);
    while (events.next()) {
    }
    const Session last = events.session();
    Result<SessionTurn> turn = events.finish();
    EXPECT_EQ(last, turn ? turn->session : session) << "the session of the stream is that of the result";
    return turn;
  }
};
INSTANTIATE_TEST_SUITE_P(Forms, SessionApprove, ::testing::Values(Form::folded, Form::streamed), testing::name_of);

TEST_P(SessionApprove, RunsTheCallInAnotherProcessAndGoesOn) {
  const Bench bench;
  const Session session = bench.suspended({send("a", 900)});
  EXPECT_EQ(bench.ran(), Strings());
  const Engine other = bench.engine({kAnswer});
  const auto turn = decide(other, session, {allow("a")});
  ASSERT_TRUE(turn.has_value()) << turn.error().message();
  EXPECT_EQ(bench.ran(), Strings{R"(a {"n":900} s-1 {"account":7})"}) << "with the session's id and context";
  EXPECT_EQ(bench.asked(), 0) << "the gate is not asked again";
  EXPECT_EQ(turn->session.status, SessionStatus::completed);
  EXPECT_TRUE(turn->session.pending_tool_calls.empty());
  EXPECT_EQ(turn->result.text(), "answer");
  EXPECT_EQ(turn->result.steps.size(), 1U) << "steps are model steps";
  EXPECT_EQ(turn->result.metadata, Json::object());
  const MessageList& messages = turn->session.thread.messages;
  ASSERT_EQ(messages.size(), 4U);
  EXPECT_EQ(messages[2].text(), R"({"sent":900})");
  EXPECT_EQ(messages[3].text(), "answer");
  EXPECT_EQ(turn->result.thread, turn->session.thread);
  EXPECT_TRUE(validate(turn->session).has_value());
}

TEST(SuspendedCalls, AreDistinguishedFromManualCalls) {
  const Bench bench;
  CallOptions options;
  options.approve = [](Calls) { return std::vector{Approval::suspend(), Approval::allow(), Approval::allow()}; };
  const auto turn = session_reply(
      bench.engine({{send("a", 1), fake_tool_call("b", "manual"), send("c", 2), kRunTools}}), {}, "go", options);
  ASSERT_TRUE(turn.has_value());
  EXPECT_EQ(ids_of(turn->session), (Strings{"a suspended", "b manual"}));
  EXPECT_EQ(answers_of(turn->session.thread), Strings{R"(c none)"});
}

TEST_P(SessionApprove, AnswersDeniedCallsToTheModel) {
  const Bench bench;
  const Session session = bench.suspended({send("a", 1), send("b", 2), send("c", 3)});
  const auto turn =
      decide(bench.engine({kAnswer}), session, {{"c", Approval::deny("too much")}, {"b", Approval()}, allow("a")});
  ASSERT_TRUE(turn.has_value());
  EXPECT_EQ(answers_of(turn->session.thread), (Strings{"a none", "b denied", "c denied"}))
      << "in the order of the calls";
  EXPECT_EQ(turn->session.thread.messages[4].text(), R"({"error":"too much","reason":"denied"})");
  EXPECT_EQ(bench.ran().size(), 1U);
  EXPECT_EQ(turn->session.status, SessionStatus::completed);
}

TEST_P(SessionApprove, CallsNoModelWhileCallsArePending) {
  const Bench bench;
  Session session = bench.suspended({send("a", 1), send("b", 2), send("c", 3)});
  const Engine engine = bench.engine({kAnswer});
  const auto first = decide(engine, session, {allow("b"), {"c", Approval::suspend()}});
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->session.status, SessionStatus::awaiting_tools);
  EXPECT_EQ(ids_of(first->session), (Strings{"a suspended", "c suspended"}));
  EXPECT_EQ(first->result.halted_reason(), "manual_tool_calls");
  EXPECT_TRUE(first->result.steps.empty());
  EXPECT_EQ(first->result.final_response, std::nullopt);
  EXPECT_TRUE(validate(first->session).has_value());
  const auto second = decide(engine, first->session, {allow("c"), allow("a")});
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->session.status, SessionStatus::completed);
  EXPECT_EQ(answers_of(second->session.thread), (Strings{"b none", "a none", "c none"}));
  EXPECT_EQ(bench.ran().size(), 3U) << "each call ran once";
}

TEST_P(SessionApprove, WithoutDecisionsChangesNothing) {
  const Bench bench;
  const Session session = bench.suspended({send("a", 1)});
  const auto turn = decide(bench.engine({}), session, {});
  ASSERT_TRUE(turn.has_value());
  EXPECT_EQ(turn->session.status, SessionStatus::awaiting_tools);
  EXPECT_EQ(turn->session.thread, session.thread);
  EXPECT_EQ(turn->session.pending_tool_calls, session.pending_tool_calls);
}

TEST_P(SessionApprove, LeavesManualCallsToTheProgram) {
  const Bench bench;
  CallOptions suspend_first;
  suspend_first.approve = [](Calls) { return std::vector{Approval::suspend(), Approval::allow()}; };
  const Engine engine = bench.engine({{send("a", 1), fake_tool_call("b", "manual"), kRunTools}, kAnswer});
  const Session session = session_reply(engine, {}, "go", suspend_first)->session;
  const auto turn = decide(engine, session, {allow("a")});
  ASSERT_TRUE(turn.has_value());
  EXPECT_EQ(ids_of(turn->session), Strings{"b manual"});
  const auto after = session_continue(engine, *submit_tool_result(turn->session, "b", "done by hand"));
  ASSERT_TRUE(after.has_value());
  EXPECT_EQ(after->session.status, SessionStatus::completed);
  EXPECT_EQ(answers_of(after->session.thread), (Strings{"a none", "b done by hand"}));
}

TEST_P(SessionApprove, DeniesAManualCallToo) {
  const Bench bench;
  const Engine engine = bench.engine_without_gate({{fake_tool_call("b", "manual"), kRunTools}, kAnswer});
  const Session session = session_reply(engine, {}, "go")->session;
  const auto turn = decide(engine, session, {{"b", Approval::deny("no")}});
  ASSERT_TRUE(turn.has_value());
  EXPECT_EQ(answers_of(turn->session.thread), Strings{"b denied"});
  EXPECT_EQ(turn->session.status, SessionStatus::completed);
}

TEST_P(SessionApprove, MakesASuspendedCallOfAManualToolManual) {
  const Bench bench;
  const Session session = bench.suspended({fake_tool_call("a", "manual")});
  EXPECT_EQ(ids_of(session), Strings{"a suspended"});
  const auto turn = decide(bench.engine({}), session, {{"a", Approval::allow_with({{"safe", true}})}});
  ASSERT_TRUE(turn.has_value());
  EXPECT_EQ(ids_of(turn->session), Strings{"a manual"});
  EXPECT_EQ(turn->session.pending_tool_calls[0].arguments, Json({{"safe", true}}));
}

TEST_P(SessionApprove, RunsNothingIfADecisionIsWrong) {
  const Bench bench;
  CallOptions suspend_first;
  suspend_first.approve = [](Calls) { return std::vector{Approval::suspend(), Approval::allow()}; };
  const Session session =
      session_reply(bench.engine({{send("a", 1), fake_tool_call("b", "manual"), kRunTools}}), {}, "go", suspend_first)
          ->session;
  struct Wrong {
    std::vector<CallDecision> decisions;
    const char* reason;
    const char* text;
  };
  for (const Wrong& wrong : {
           Wrong{{allow("a"), allow("x")}, "unknown_tool_call_id", "no call 'x' is pending"},
           Wrong{{allow("a"), {"a", Approval::deny("no")}}, "invalid_option", "two decisions on call 'a'"},
           Wrong{{allow("a"), allow("b")}, "invalid_option", "submit_tool_result"},
           Wrong{{{"a", Approval::allow_with(Json::array())}}, "invalid_option", "not a JSON object"},
           Wrong{{{"a", Approval::allow_with({{"n", "\xff"}})}}, "invalid_option", "JSON cannot carry"},
       }) {
    const auto turn = decide(bench.engine({kAnswer}), session, wrong.decisions);
    ASSERT_FALSE(turn.has_value()) << wrong.text;
    EXPECT_EQ(turn.error().reason(), wrong.reason);
    EXPECT_NE(turn.error().message().find(wrong.text), std::string::npos) << turn.error().message();
  }
  EXPECT_EQ(bench.ran(), Strings());
}

TEST_P(SessionApprove, RunsNothingOfAToolThatTheEngineLacks) {
  const Bench bench;
  const Session session = bench.suspended({send("a", 1), send("b", 1)});
  const auto turn = decide(Engine({.adapter = fake({kAnswer})}), session, {allow("a"), {"b", Approval::deny("no")}});
  ASSERT_FALSE(turn.has_value());
  EXPECT_EQ(turn.error().reason(), "unknown_tool");
}

TEST_P(SessionApprove, IsAllowedOnlyWhileCallsArePending) {
  const Bench bench;
  for (const SessionStatus status : {SessionStatus::idle, SessionStatus::completed, SessionStatus::awaiting_user}) {
    const auto turn = decide(bench.engine({kAnswer}), {.thread = {user("hi")}, .status = status}, {});
    ASSERT_FALSE(turn.has_value());
    EXPECT_EQ(turn.error().reason(), "invalid_status_for_operation");
  }
  const auto broken = decide(bench.engine({kAnswer}), {.status = SessionStatus::error}, {});
  ASSERT_FALSE(broken.has_value());
  EXPECT_EQ(broken.error().reason(), "session_in_error_state");
}

TEST_P(SessionApprove, ChecksRewrittenArgumentsLikeThoseOfTheGate) {
  const Bench bench;
  const Session session = bench.suspended({send("a", 900), send("b", 900)});
  const auto turn = decide(bench.engine({kAnswer}), session,
                           {{"a", Approval::allow_with({{"n", "x"}})}, {"b", Approval::allow_with({{"n", 5}})}});
  ASSERT_TRUE(turn.has_value());
  EXPECT_EQ(answers_of(turn->session.thread), (Strings{"a invalid_arguments", "b none"}));
  EXPECT_EQ(bench.ran(), Strings{R"(b {"n":5} s-1 {"account":7})"});
  EXPECT_EQ(turn->session.thread.messages[1].tool_calls[1].arguments, Json({{"n", 900}}));
  EXPECT_EQ(turn->session.thread.messages[3].metadata, Json({{"rewritten_arguments", {{"n", 5}}}}));
}

TEST_P(SessionApprove, EndsTheTurnIfACallDoes) {
  struct Case {
    const char* tool;
    const char* reason;
    SessionStatus status;
  };
  for (const Case& row :
       {Case{"halts", "own", SessionStatus::completed}, Case{"asks", "ask_user", SessionStatus::awaiting_user},
        Case{"bad", "tool_error", SessionStatus::error}}) {
    SCOPED_TRACE(row.tool);
    const Bench bench;
    const Session session = bench.suspended({send("a", 1), fake_tool_call("b", row.tool), send("c", 2)});
    const auto turn =
        decide(bench.engine({kAnswer}), session, {allow("b"), allow("c")}, {.on_tool_error = ToolErrorAction::halt});
    ASSERT_TRUE(turn.has_value());
    EXPECT_EQ(turn->result.halted_reason(), row.reason);
    EXPECT_EQ(turn->session.status, row.status);
    EXPECT_TRUE(turn->session.pending_tool_calls.empty());
    EXPECT_EQ(answers_of(turn->session.thread).size(), 3U);
    EXPECT_EQ(answers_of(turn->session.thread)[0], "a not_run");
    EXPECT_EQ(bench.ran().size(), 1U);
    EXPECT_TRUE(validate(turn->session).has_value());
  }
}

TEST_P(SessionApprove, AQuestionOfACallIsAnsweredAsUsual) {
  const Bench bench;
  const Engine engine = bench.engine({kAnswer});
  const auto turn = decide(engine, bench.suspended({fake_tool_call("a", "asks")}), {allow("a")});
  ASSERT_TRUE(turn.has_value());
  EXPECT_EQ(turn->session.pending_question, "sure?");
  EXPECT_EQ(turn->session.thread.messages.back().text(), "sure?");
  const auto after = session_reply(engine, turn->session, "yes");
  ASSERT_TRUE(after.has_value());
  EXPECT_EQ(after->session.status, SessionStatus::completed);
}

TEST_P(SessionApprove, KeepsTheResultsIfTheModelFailsAfterwards) {
  const Bench bench;
  const Engine engine = bench.engine({{fake_preflight_error(AdapterError::Reason::invalid_request)}, kAnswer});
  const auto turn = decide(engine, bench.suspended({send("a", 1)}), {allow("a")});
  ASSERT_TRUE(turn.has_value()) << turn.error().message();
  EXPECT_EQ(turn->result.halted_reason(), "error");
  EXPECT_EQ(turn->session.status, SessionStatus::error);
  EXPECT_EQ(answers_of(turn->session.thread), Strings{"a none"});
  EXPECT_TRUE(turn->session.pending_tool_calls.empty()) << "what has run does not run again";
  const auto after = session_start(engine, *session_recover(turn->session));
  ASSERT_TRUE(after.has_value()) << after.error().message();
  EXPECT_EQ(after->session.status, SessionStatus::completed);
  EXPECT_EQ(bench.ran().size(), 1U);
}

TEST_P(SessionApprove, CancelledAnswersTheCallsThatDidNotRun) {
  const Bench bench;
  std::stop_source stop;
  CallOptions options{.max_concurrency = 1};
  options.cancel.after_tools = stop.get_token();
  options.on_event = [&](const Event& event) {
    if (event.tag() == EventTag::tool_execution_started) stop.request_stop();
  };
  const auto turn = decide(bench.engine({kAnswer}), bench.suspended({send("a", 1), send("b", 2), send("c", 3)}),
                           {allow("a"), allow("b")}, options);
  ASSERT_TRUE(turn.has_value());
  EXPECT_EQ(turn->result.halted_reason(), "cancelled");
  EXPECT_EQ(turn->session.status, SessionStatus::idle);
  EXPECT_EQ(answers_of(turn->session.thread), (Strings{"a none", "b not_run", "c not_run"}));
  EXPECT_TRUE(validate(turn->session).has_value());
}

TEST_P(SessionApprove, CountsTheCallsInTheLimitsOfTheRun) {
  const Bench bench;
  const auto turn = decide(bench.engine({kAnswer}), bench.suspended({send("a", 1), send("b", 2)}),
                           {allow("a"), allow("b")}, {.max_tool_calls = 1, .max_concurrency = 1});
  ASSERT_TRUE(turn.has_value());
  EXPECT_EQ(turn->result.halted_reason(), "max_tool_calls");
  EXPECT_TRUE(turn->result.steps.empty());
  EXPECT_EQ(answers_of(turn->session.thread), (Strings{"a none", "b not_run"}));
}

TEST_P(SessionApprove, TheGateDecidesOnLaterCalls) {
  const Bench bench;
  const auto turn =
      decide(bench.engine({{send("later", 3), kRunTools}}), bench.suspended({send("a", 1)}), {allow("a")});
  ASSERT_TRUE(turn.has_value());
  EXPECT_EQ(bench.asked(), 1);
  EXPECT_EQ(ids_of(turn->session), Strings{"later suspended"});
  EXPECT_EQ(bench.ran().size(), 1U);
}

TEST_P(SessionApprove, ReportsItsCallsUnderTheSpanOfTheRun) {
  const Bench bench;
  const auto sink = std::make_shared<CollectingTelemetry>();
  const auto turn = decide(bench.engine({kAnswer}, {.telemetry = sink}), bench.suspended({send("a", 1)}), {allow("a")});
  ASSERT_TRUE(turn.has_value());
  EXPECT_EQ(sink->tree(), "chat\n  tool send\n  step\n    generate\n      stream\n");
}

TEST(SessionApproveStream, ShowsTheResultsAsEvents) {
  const Bench bench;
  SessionStream events = session_stream_approve(bench.engine({kAnswer}), bench.suspended({send("a", 1)}), {allow("a")});
  std::vector<EventTag> tags;
  while (Poll event = events.next()) tags.push_back(event->tag());
  ASSERT_GT(tags.size(), 4U);
  EXPECT_EQ(std::vector(tags.begin(), tags.begin() + 4),
            (std::vector{EventTag::tool_execution_started, EventTag::tool_execution_completed,
                         EventTag::tool_result_encoded, EventTag::message_started}));
  EXPECT_EQ(tags.back(), EventTag::chat_completed);
}

// Reads until `tag` has come and drops the stream.
Session dropped_after(SessionStream events, EventTag tag) {
  while (Poll event = events.next()) {
    if (event->tag() == tag) break;
  }
  events.drop();
  const Result<SessionTurn> turn = events.finish();
  if (turn) {
    EXPECT_EQ(turn->result.thread, turn->session.thread);
  }
  EXPECT_TRUE(validate(events.session()).has_value());
  return events.session();
}

TEST(SessionApproveStream, DroppedKeepsTheResultsThatWereRead) {
  const Bench bench;
  const Session session = bench.suspended({send("a", 1), send("b", 2)});
  const auto approve_all = [&](FakeScript script) {
    return session_stream_approve(bench.engine(std::move(script)), session,
                                  {{"a", Approval::allow_with({{"n", 4}})}, allow("b")}, {.max_concurrency = 1});
  };
  EXPECT_EQ(dropped_after(approve_all({kAnswer}), EventTag::tool_execution_started), session);

  const Session half = dropped_after(approve_all({kAnswer}), EventTag::tool_result_encoded);
  EXPECT_EQ(half.status, SessionStatus::awaiting_tools);
  EXPECT_EQ(ids_of(half), Strings{"b suspended"});
  EXPECT_EQ(answers_of(half.thread), Strings{"a none"});
  EXPECT_EQ(half.thread.messages.back().metadata, Json({{"rewritten_arguments", {{"n", 4}}}}));

  const Session all = dropped_after(approve_all({kAnswer}), EventTag::message_started);
  EXPECT_EQ(all.status, SessionStatus::idle);
  EXPECT_TRUE(all.pending_tool_calls.empty());
  EXPECT_EQ(answers_of(all.thread), (Strings{"a none", "b none"}));

  const Session stepped = dropped_after(approve_all({kAnswer}), EventTag::step_completed);
  EXPECT_EQ(stepped.status, SessionStatus::idle);
  EXPECT_EQ(stepped.thread.messages.back().text(), "answer");

  const Session failed =
      dropped_after(approve_all({{fake_preflight_error(AdapterError::Reason::invalid_request)}}), EventTag::error);
  EXPECT_EQ(answers_of(failed.thread), (Strings{"a none", "b none"})) << "what has run is not forgotten";
}

TEST(ApproveOfThreads, RunsTheCallsAndGoesOn) {
  const Bench bench;
  const Engine engine = bench.engine({{send("a", 1), send("b", 2), kRunTools}, kAnswer, kAnswer});
  const auto paused = chat(engine, {user("pay")});
  ASSERT_TRUE(paused.has_value());
  const std::vector<CallDecision> decisions = {allow("a"), {"b", Approval::deny("no")}};
  const auto folded = approve(engine, paused->thread, paused->manual_tool_calls(), decisions);
  ASSERT_TRUE(folded.has_value()) << folded.error().message();
  EXPECT_EQ(folded->halted_reason(), "completed");
  EXPECT_EQ(answers_of(folded->thread), (Strings{"a none", "b denied"}));
  Result<ChatResult> streamed = stream_approve(engine, paused->thread, paused->manual_tool_calls(), decisions).finish();
  ASSERT_TRUE(streamed.has_value());
  EXPECT_EQ(streamed->thread, folded->thread);

  const auto again = approve(engine, folded->thread, paused->manual_tool_calls(), decisions);
  ASSERT_FALSE(again.has_value()) << "an old list of pending calls runs nothing twice";
  EXPECT_EQ(again.error().reason(), "unknown_tool_call_id");
}

TEST(ApproveOfThreads, EndsAtTheDeadlineOfTheRun) {
  const testing::Stubborn stubborn;
  const Engine engine({.adapter = fake({{fake_tool_call("a", "stubborn"), kRunTools}, kAnswer}),
                       .tools = {stubborn.tool()},
                       .approve = [](Calls) { return std::vector{Approval::suspend()}; }});
  const auto paused = chat(engine, {user("go")});
  const auto result = approve(engine, paused->thread, paused->manual_tool_calls(), {allow("a")},
                              {.run_timeout = std::chrono::milliseconds(20)});
  stubborn.may_end->open();
  ASSERT_TRUE(result.has_value()) << result.error().message();
  EXPECT_EQ(result->halted_reason(), "run_timeout");
  EXPECT_EQ(answers_of(result->thread), Strings{"a timeout"});
  EXPECT_TRUE(result->steps.empty());
}

TEST(ApproveOfThreads, WithAStructuredAnswerHasBothPasses) {
  const Bench bench;
  const Engine engine =
      bench.engine({{send("a", 1), kRunTools}, kAnswer, {fake_text("{}"), fake_finish(FinishReason::stop)}});
  const auto paused = chat(engine, {user("pay")});
  CallOptions options{.response_format = ResponseFormat::json_object(), .structured_finalize = true};
  const auto result = approve(engine, paused->thread, paused->manual_tool_calls(), {allow("a")}, options);
  ASSERT_TRUE(result.has_value()) << result.error().message();
  EXPECT_EQ(result->steps.size(), 2U);
  EXPECT_EQ(result->text(), "{}");
}

}  // namespace
}  // namespace allm::approve_test
