#include "allm/session_ops.hpp"

#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/fake.hpp"
#include "allm/serialize.hpp"
#include "allm/validate.hpp"

namespace allm::session_ops_test {
namespace {

using Reason = AdapterError::Reason;

FakeEntry call_of(const std::string& id, const std::string& name) { return fake_tool_call(id, name); }
const FakeEntry kRunTools = fake_finish(FinishReason::tool_calls);
const FakeCallScript kAnswer = {fake_text("answer"), fake_finish(FinishReason::stop)};

std::vector<Tool> tools() {
  return {{.name = "good", .handler = [](const Json&) { return ok("fine"); }},
          {.name = "bad", .handler = [](const Json&) { return failure("no"); }},
          {.name = "asks", .handler = [](const Json&) { return ask_user("who?"); }},
          {.name = "halts", .handler = [](const Json&) { return halt("own", 1); }},
          {.name = "manual", .manual = true}};
}
Engine engine_of(FakeScript script) { return Engine({.adapter = fake(std::move(script)), .tools = tools()}); }

Session in(SessionStatus status) {
  Session session{.id = "s", .thread = {user("hi")}, .status = status};
  if (status == SessionStatus::awaiting_user) {
    session.pending_question = "who?";
    session.pending_tool_call_id = "c0";
  }
  if (status == SessionStatus::awaiting_tools) session.pending_tool_calls = {{{.id = "c0", .name = "manual"}}};
  if (status == SessionStatus::error) session.metadata = {{"error", "x"}};
  return session;
}

// How an operation ended: "ok", or the reason of its error.
template <class T>
std::string ended(const Result<T>& result) {
  return result ? "ok" : std::string(result.error().reason());
}
std::string ended(SessionStream stream, const Session& before) {
  std::string reason = "ok";
  while (Poll event = stream.next()) {
    if (const auto* error = event->get_if<ErrorEvent>()) reason = error->error.reason();
  }
  if (reason != "ok") {
    EXPECT_EQ(stream.session(), before) << "an error leaves the session as it was";
  }
  return reason;
}

TEST(SessionStatusTable, DefinesTheAllowedOperations) {
  struct Row {
    SessionStatus status;
    const char* start;
    const char* reply;
    const char* continue_none;
    const char* continue_user;
    const char* continue_assistant;
    const char* step;
    const char* submit;
    const char* recover;
  };
  const char* ok = "ok";
  const char* no = "invalid_status_for_operation";
  const char* broken = "session_in_error_state";
  for (const Row& row : {Row{SessionStatus::idle, ok, ok, ok, ok, ok, ok, no, no},
                         Row{SessionStatus::completed, ok, ok, ok, ok, ok, ok, no, no},
                         Row{SessionStatus::awaiting_user, no, ok, no, ok, no, no, no, no},
                         Row{SessionStatus::awaiting_tools, no, no, no, no, no, no, ok, no},
                         Row{SessionStatus::error, broken, broken, broken, broken, broken, broken, broken, ok}}) {
    SCOPED_TRACE(to_string(row.status));
    const Session session = in(row.status);
    const auto engine = [] { return engine_of({kAnswer}); };
    EXPECT_EQ(ended(session_start(engine(), session)), row.start);
    EXPECT_EQ(ended(session_stream_start(engine(), session), session), row.start);
    EXPECT_EQ(ended(session_reply(engine(), session, "x")), row.reply);
    EXPECT_EQ(ended(session_stream_reply(engine(), session, "x"), session), row.reply);
    EXPECT_EQ(ended(session_continue(engine(), session)), row.continue_none);
    EXPECT_EQ(ended(session_stream_continue(engine(), session), session), row.continue_none);
    EXPECT_EQ(ended(session_continue(engine(), session, user("x"))), row.continue_user);
    EXPECT_EQ(ended(session_stream_continue(engine(), session, user("x")), session), row.continue_user);
    EXPECT_EQ(ended(session_continue(engine(), session, assistant("x"))), row.continue_assistant);
    EXPECT_EQ(ended(session_step(engine(), session)), row.step);
    EXPECT_EQ(ended(session_stream_step(engine(), session), session), row.step);
    EXPECT_EQ(ended(submit_tool_result(session, "c0", 1)), row.submit);
    EXPECT_EQ(ended(session_approve(engine(), session, {})), row.submit) << "what can be answered can be decided on";
    EXPECT_EQ(ended(session_stream_approve(engine(), session, {}), session), row.submit);
    EXPECT_EQ(ended(session_recover(session)), row.recover);
    EXPECT_EQ(submit_tool_results(session, {}), session) << "no results change nothing in any status";
  }
  Session answered = in(SessionStatus::awaiting_tools);
  answered.pending_tool_calls.clear();
  EXPECT_EQ(ended(session_continue(engine_of({kAnswer}), answered)), "ok");
  EXPECT_EQ(ended(session_continue(engine_of({kAnswer}), answered, user("x"))), no);
}

TEST(SessionProjection, OfARun) {
  const auto after = [](FakeScript script, const CallOptions& options = {}) {
    const auto turn =
        session_reply(engine_of(std::move(script)), {.id = "s", .metadata = {{"mine", 1}}}, "hi", options);
    EXPECT_TRUE(turn.has_value());
    EXPECT_EQ(turn->session.thread, turn->result.thread);
    EXPECT_EQ(turn->session.id, "s");
    EXPECT_EQ(turn->session.metadata.at("mine"), 1) << "what the session had stays";
    EXPECT_TRUE(validate(turn->session).has_value());
    EXPECT_EQ(from_json<Session>(*to_json(turn->session)), turn->session);
    return turn->session;
  };
  EXPECT_EQ(after({kAnswer}).status, SessionStatus::completed);
  EXPECT_EQ(after({{call_of("a", "good"), kRunTools}}, {.max_turns = 1}).status, SessionStatus::completed);
  EXPECT_EQ(after({{call_of("a", "halts"), kRunTools}}).status, SessionStatus::completed);

  const Session asking = after({{call_of("a", "asks"), kRunTools}});
  EXPECT_EQ(asking.status, SessionStatus::awaiting_user);
  EXPECT_EQ(asking.pending_question, "who?");
  EXPECT_EQ(asking.pending_tool_call_id, "a");

  const Session waiting = after({{call_of("a", "good"), call_of("b", "manual"), kRunTools}});
  EXPECT_EQ(waiting.status, SessionStatus::awaiting_tools);
  ASSERT_EQ(waiting.pending_tool_calls.size(), 1U);
  EXPECT_EQ(waiting.pending_tool_calls[0].id, "b");
  EXPECT_EQ(after({{call_of("a", "good"), call_of("b", "manual"), kRunTools}}, {.mode = Mode::manual})
                .pending_tool_calls.size(),
            2U);

  const Session failed = after({{call_of("a", "bad"), kRunTools}}, {.on_tool_error = ToolErrorAction::halt});
  EXPECT_EQ(failed.status, SessionStatus::error);
  EXPECT_EQ(failed.metadata.at("error"), Json({{"halt_tool_call_id", "a"}}));
  const Session broken = after({{fake_text("x"), fake_error(Reason::timeout)}});
  EXPECT_EQ(broken.status, SessionStatus::error);
  EXPECT_EQ(from_json_value<Error>(broken.metadata.at("error"))->reason(), "timeout");
  EXPECT_EQ(after({{call_of("a", "good"), kRunTools}, {call_of("b", "nobody"), kRunTools}}).status,
            SessionStatus::error);
  CallOptions throwing;
  throwing.on_tool_error = ToolErrorFunction(
      [](const ToolCall&, const ToolFailure&) -> ToolErrorDecision { throw std::runtime_error("p"); });
  const Session policy = after({{call_of("a", "bad"), kRunTools}}, throwing);
  EXPECT_EQ(from_json_value<Error>(policy.metadata.at("error"))->reason(), "invalid_return");
}

TEST(SessionProjection, OfAStep) {
  const auto after = [](FakeCallScript script, const CallOptions& options = {}) {
    const auto step = session_step(engine_of({std::move(script)}), {.thread = {user("hi")}}, options);
    EXPECT_TRUE(step.has_value());
    EXPECT_EQ(step->session.thread, step->result.thread);
    EXPECT_TRUE(validate(step->session).has_value());
    return step->session.status;
  };
  EXPECT_EQ(after(kAnswer), SessionStatus::completed);
  EXPECT_EQ(after({call_of("a", "good"), kRunTools}), SessionStatus::idle);
  EXPECT_EQ(after({call_of("a", "halts"), kRunTools}), SessionStatus::completed);
  EXPECT_EQ(after({call_of("a", "asks"), kRunTools}), SessionStatus::awaiting_user);
  EXPECT_EQ(after({call_of("a", "manual"), kRunTools}), SessionStatus::awaiting_tools);
  EXPECT_EQ(after({call_of("a", "good"), kRunTools}, {.mode = Mode::manual}), SessionStatus::awaiting_tools);
  EXPECT_EQ(after({call_of("a", "bad"), kRunTools}, {.on_tool_error = ToolErrorAction::halt}), SessionStatus::error);
  EXPECT_EQ(after({fake_text("x"), fake_error(Reason::timeout)}), SessionStatus::error);
}

TEST(SessionOps, AnswersAQuestionAndGoesOn) {
  const Engine engine = engine_of({{call_of("a", "asks"), kRunTools}, kAnswer});
  const auto asked = session_reply(engine, {}, "hi");
  ASSERT_TRUE(asked.has_value());
  const auto answered = session_reply(engine, asked->session, "me");
  ASSERT_TRUE(answered.has_value());
  EXPECT_EQ(answered->session.status, SessionStatus::completed);
  EXPECT_FALSE(answered->session.pending_question.has_value());
  EXPECT_FALSE(answered->session.pending_tool_call_id.has_value());
  std::vector<std::string> texts;
  for (const Message& message : answered->session.thread.messages) texts.push_back(message.text());
  EXPECT_EQ(texts, (std::vector<std::string>{"hi", "", "<awaiting user response>", "who?", "me", "answer"}));
}

TEST(SessionOps, AnErrorOfTheRunKeepsTheCallersSession) {
  const Session before = in(SessionStatus::idle);
  const Session copy = before;
  for (const FakeCallScript& script :
       {FakeCallScript{fake_preflight_error(Reason::unknown)}, FakeCallScript{call_of("a", "nobody"), kRunTools}}) {
    EXPECT_FALSE(session_reply(engine_of({script}), before, "x").has_value());
    EXPECT_FALSE(session_step(engine_of({script}), before).has_value());
    EXPECT_EQ(before, copy);
    EXPECT_NE(ended(session_stream_reply(engine_of({script}), before, "x"), before), "ok");
    EXPECT_NE(ended(session_stream_step(engine_of({script}), before), before), "ok");
  }
  EXPECT_FALSE(session_reply(engine_of({kAnswer}), before, "x", {.max_turns = 0}).has_value());
}

// --- Submitting results

Session waiting_for(std::vector<std::string> ids) {
  Session session{.thread = {user("hi")}, .status = SessionStatus::awaiting_tools};
  for (std::string& id : ids) session.pending_tool_calls.push_back({{.id = std::move(id), .name = "manual"}});
  return session;
}

TEST(Submit, AnswersOneCallAfterTheOther) {
  const auto first = submit_tool_result(waiting_for({"a", "b"}), "b", {{"n", 1}});
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->status, SessionStatus::awaiting_tools);
  ASSERT_EQ(first->pending_tool_calls.size(), 1U);
  EXPECT_EQ(first->thread.messages.back().text(), R"({"n":1})");
  EXPECT_EQ(first->thread.messages.back().tool_call_id, "b");
  const auto second = submit_tool_result(*first, "a", "text as it is");
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->status, SessionStatus::idle);
  EXPECT_EQ(second->thread.messages.back().text(), "text as it is");
}

TEST(Submit, SubmitsAllResultsOrNone) {
  const Session before = waiting_for({"a", "b"});
  const std::vector<SubmittedResult> both = {{"a", 1}, {"b", nullptr}};
  EXPECT_EQ(submit_tool_results(before, both)->status, SessionStatus::idle);
  for (const std::vector<SubmittedResult>& wrong :
       {std::vector<SubmittedResult>{{"a", 1}, {"z", 1}}, {{"a", 1}, {"a", 2}}, {{"a", 1}, {"b", 1}, {"c", 1}}}) {
    const auto result = submit_tool_results(before, wrong);
    ASSERT_FALSE(result.has_value());
    EXPECT_TRUE(result.error().is<SessionError>(SessionError::Reason::unknown_tool_call_id));
    EXPECT_EQ(result.error().metadata().at("tool_call_id"), wrong.back().tool_call_id);
  }
}

TEST(Submit, RefusesResultsThatCannotBeWritten) {
  const auto result = submit_tool_result(waiting_for({"a"}), "a", std::numeric_limits<double>::infinity());
  ASSERT_FALSE(result.has_value());
  EXPECT_TRUE(result.error().is<ToolError>(ToolError::Reason::encoding_failed));
}

TEST(Submit, UsesTheGivenEncoder) {
  class Loud : public ToolResultEncoder {
    Result<std::string> encode(const Json& value) override { return value.dump() + "!"; }
    std::string encode_failure(const ToolFailure&) override { return ""; }
  };
  Loud loud;
  EXPECT_EQ(submit_tool_result(waiting_for({"a"}), "a", 1, &loud)->thread.messages.back().text(), "1!");
}

TEST(Submit, IsFollowedByTheRestOfTheRun) {
  const Engine engine = engine_of({{call_of("a", "manual"), kRunTools}, kAnswer});
  const auto waiting = session_reply(engine, {}, "hi");
  ASSERT_TRUE(waiting.has_value());
  const auto submitted = submit_tool_result(waiting->session, "a", 1);
  ASSERT_TRUE(submitted.has_value());
  const auto turn = session_continue(engine, *submitted);
  ASSERT_TRUE(turn.has_value());
  EXPECT_EQ(turn->session.status, SessionStatus::completed);
  EXPECT_EQ(turn->result.text(), "answer");
}

// --- Recovery

TEST(Recover, RemovesAnInterruptedTurn) {
  const Engine engine =
      engine_of({{call_of("a", "good"), kRunTools}, {fake_text("so f"), fake_error(Reason::timeout)}, kAnswer});
  const auto broken = session_reply(engine, {}, "hi");
  ASSERT_TRUE(broken.has_value());
  ASSERT_EQ(broken->session.status, SessionStatus::error);
  EXPECT_EQ(broken->session.thread.messages.size(), 4U);
  const auto recovered = session_recover(broken->session);
  ASSERT_TRUE(recovered.has_value());
  EXPECT_EQ(recovered->status, SessionStatus::idle);
  EXPECT_EQ(recovered->thread.messages.size(), 3U) << "user, call and its answer";
  EXPECT_FALSE(recovered->metadata.contains("error"));
  EXPECT_TRUE(validate(*recovered).has_value());
  const auto again = session_start(engine, *recovered);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->result.text(), "answer");
}

TEST(Recover, KeepsAFailedToolsTurn) {
  const auto failed =
      session_reply(engine_of({{call_of("a", "bad"), kRunTools}}), {}, "hi", {.on_tool_error = ToolErrorAction::halt});
  ASSERT_TRUE(failed.has_value());
  const auto recovered = session_recover(failed->session);
  ASSERT_TRUE(recovered.has_value());
  EXPECT_EQ(recovered->thread, failed->session.thread);
}

TEST(Recover, WorksOnASessionThatWasReadFromText) {
  const auto broken = session_reply(engine_of({{fake_text("x"), fake_error(Reason::timeout)}}), {}, "hi");
  ASSERT_TRUE(broken.has_value());
  const auto read = from_json<Session>(*to_json(broken->session));
  ASSERT_TRUE(read.has_value());
  const auto recovered = session_recover(*read);
  ASSERT_TRUE(recovered.has_value());
  EXPECT_EQ(recovered->thread.messages.size(), 1U);
}

// --- Context and id

TEST(SessionContext, IsTheFirstNonEmptyOfCallSessionAndEngine) {
  std::string seen;
  const Tool looks{.name = "look", .handler = [&](const Json&, const ToolContext& context) {
                     seen = context.context().dump() + " " + context.session_id().value_or("-");
                     return ok(1);
                   }};
  const auto run = [&](std::optional<Json> call, Json session, Json engine_context, CallOptions options = {}) {
    const Engine engine({.adapter = fake({{call_of("a", "look"), kRunTools}, kAnswer}),
                         .tools = {looks},
                         .context = std::move(engine_context)});
    options.context = std::move(call);
    EXPECT_TRUE(session_reply(engine, {.id = "s", .context = std::move(session)}, "hi", options).has_value());
    return seen;
  };
  const Json none = Json::object();
  EXPECT_EQ(run(Json({{"c", 1}}), {{"s", 1}}, {{"e", 1}}), R"({"c":1} s)");
  EXPECT_EQ(run(std::nullopt, {{"s", 1}}, {{"e", 1}}), R"({"s":1} s)");
  EXPECT_EQ(run(none, {{"s", 1}}, {{"e", 1}}), R"({"s":1} s)") << "an empty one says nothing";
  EXPECT_EQ(run(none, none, {{"e", 1}}), R"({"e":1} s)");
  EXPECT_EQ(run(std::nullopt, none, none), "{} s");
  EXPECT_EQ(run(std::nullopt, none, none, {.session_id = "other"}), "{} other");
}

// --- The stream reducer

TEST(SessionStream, DroppedAnywhereKeepsTheMessageAndTheFinishedSteps) {
  const FakeScript script = {{fake_text("look"), call_of("a", "good"), kRunTools},
                             {fake_text("x"), fake_error(Reason::timeout)}};
  const Session before{.id = "s", .thread = {user("one"), assistant("two")}, .status = SessionStatus::completed};
  bool ended = false;
  for (std::size_t count = 0; !ended; ++count) {
    SessionStream events = session_stream_reply(engine_of(script), before, "three");
    std::size_t steps = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto event = events.next();
      ASSERT_TRUE(event.has_event());
      if (event->tag() == EventTag::step_completed) ++steps;
      ended = event->tag() == EventTag::chat_completed;
    }
    events.drop();
    const Session left = events.session();
    EXPECT_EQ(left.status, ended ? SessionStatus::error : SessionStatus::idle) << count;
    EXPECT_EQ(left.thread.messages.size(), std::vector<std::size_t>({3, 5, 6}).at(steps)) << count;
    EXPECT_EQ(left.thread.messages[2].text(), "three");
    EXPECT_TRUE(validate(left).has_value());
    EXPECT_EQ(events.session(), left) << "asking changes nothing";
  }
}

TEST(SessionStream, DroppedAtAnInterruptedFirstMessageKeepsTheUsersMessage) {
  SessionStream events =
      session_stream_reply(engine_of({{fake_text("x"), fake_error(Reason::timeout)}}), Session{}, "hi");
  while (events.next()->tag() != EventTag::error) {
  }
  events.drop();
  EXPECT_EQ(events.session().thread, Thread{user("hi")});
  EXPECT_EQ(events.session().status, SessionStatus::idle);
}

TEST(SessionStream, OfAnAnswerRemovesTheAnsweredQuestion) {
  Session asking = in(SessionStatus::awaiting_user);
  SessionStream events = session_stream_reply(engine_of({kAnswer}), asking, "me");
  (void)events.next();
  events.drop();
  EXPECT_EQ(events.session().status, SessionStatus::idle);
  EXPECT_FALSE(events.session().pending_question.has_value());
  EXPECT_EQ(events.session().thread.messages.back().text(), "me");
}

TEST(SessionStream, CanBeReadInPartsAndFinished) {
  SessionStream events = session_stream_reply(engine_of({kAnswer}), Session{}, "hi");
  EXPECT_TRUE(events.try_next().has_event());
  EXPECT_TRUE(events.next(std::chrono::steady_clock::now()).has_event());
  std::size_t rest = 0;
  for ([[maybe_unused]] const Event& event : events) {
    if (++rest == 2) break;
  }
  const auto turn = events.finish();
  ASSERT_TRUE(turn.has_value());
  EXPECT_EQ(turn->session.status, SessionStatus::completed);
  EXPECT_EQ(turn->session, events.session());
}

TEST(SessionStream, OfAStepIsFinishedAsAStep) {
  SessionStream events = session_stream_step(engine_of({kAnswer}), Session{.thread = {user("hi")}});
  const auto step = events.finish_step();
  ASSERT_TRUE(step.has_value());
  EXPECT_TRUE(step->result.done);
  EXPECT_EQ(step->session.status, SessionStatus::completed);
}

TEST(SessionRequests, AddTheirMessagesAndApplyToOneOperation) {
  const FakeCallScript answer = {fake_text("done"), fake_finish(FinishReason::stop)};
  const auto adapter = fake({answer, answer, answer, answer}, {.record = true});
  const Engine engine({.adapter = adapter});
  Session session{.id = "s"};
  session.thread.metadata = {{"topic", "rome"}};
  const auto started =
      session_start(engine, session, Request{.messages = {system("be brief"), user("hi")}, .temperature = 0.5});
  ASSERT_TRUE(started.has_value()) << started.error().message();
  EXPECT_EQ(started->session.thread.messages.size(), 3U);
  EXPECT_EQ(started->session.thread.metadata, session.thread.metadata);
  const auto continued =
      session_continue(engine, started->session, {.messages = {user("more")}, .max_tokens = 7}, {.temperature = 0.1});
  ASSERT_TRUE(continued.has_value());
  EXPECT_EQ(continued->session.thread.messages.size(), 5U);
  ASSERT_TRUE(session_step(engine, continued->session, Request{.messages = {user("x")}, .model = "m"}).has_value());
  ASSERT_TRUE(session_start(engine, started->session, {.temperature = 0.9}).has_value()) << "braces are options";
  const auto calls = adapter->requests();
  EXPECT_EQ(calls.at(0).request.temperature, 0.5);
  EXPECT_EQ(calls.at(0).session_id, "s");
  EXPECT_EQ(calls.at(1).request.temperature, 0.1);
  EXPECT_EQ(calls.at(1).request.max_tokens, 7);
  EXPECT_EQ(calls.at(1).request.messages.size(), 4U);
  EXPECT_EQ(calls.at(2).model->id, "m");
  EXPECT_FALSE(calls.at(2).request.max_tokens.has_value());
}

TEST(SessionRequests, AreAllowedIfTheirFirstMessageIs) {
  const Engine engine({.adapter = fake({{fake_text("done"), fake_finish(FinishReason::stop)}})});
  const Session asking{.thread = {user("hi"), assistant("Which?")},
                       .status = SessionStatus::awaiting_user,
                       .pending_question = "Which?"};
  EXPECT_FALSE(session_continue(engine, asking, {.messages = {assistant("no")}}).has_value());
  EXPECT_FALSE(session_start(engine, asking, Request{.messages = {user("Rome")}}).has_value());
  const auto answered = session_continue(engine, asking, {.messages = {user("Rome")}});
  ASSERT_TRUE(answered.has_value()) << answered.error().message();
  EXPECT_EQ(answered->session.status, SessionStatus::completed);
}

}  // namespace
}  // namespace allm::session_ops_test
