// Session streams that are dropped after each of their events, with calls that wait for the program or the user: what
// is pending stays pending, the session can be saved and loaded, and it ends as it would have ended without the drop.
#include <algorithm>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "allm/allm.hpp"
#include "allm/fake.hpp"

namespace allm::dropped_session_attack_test {
namespace {

// The calls of each turn, by the names of their tools.
using Turns = std::vector<std::vector<std::string>>;

struct Story {
  std::string name;
  Turns turns;
  bool is_structured = false;
  Mode mode = Mode::automatic;
};

std::size_t turns_so_far(const MessageList& messages) {
  return static_cast<std::size_t>(
      std::count_if(messages.begin(), messages.end(), [](const Message& m) { return !m.tool_calls.empty(); }));
}

// Calls the tools of the next turn; after the last turn, its answer lists all results.
FakeCallScript answer(const Turns& turns, const Request& request) {
  const std::size_t turn = turns_so_far(request.messages);
  if (turn >= turns.size()) {
    std::string text;
    for (const Message& message : request.messages) {
      if (message.role == Role::tool) text += *message.tool_call_id + "=" + message.text() + ";";
    }
    if (request.response_format) text = Json{{"sum", text}}.dump();
    return {fake_text("the "), fake_text(text), fake_finish(FinishReason::stop)};
  }
  FakeCallScript script{fake_text("turn " + std::to_string(turn))};
  for (std::size_t i = 0; i < turns[turn].size(); ++i) {
    script.push_back(fake_tool_call("t" + std::to_string(turn) + "-" + std::to_string(i), turns[turn][i]));
  }
  script.push_back(fake_finish(FinishReason::tool_calls));
  return script;
}

std::vector<Tool> tools() {
  const auto quick = [](const Json&) { return ok("quick"); };
  return {Tool{.name = "quick", .handler = quick}, Tool{.name = "manual", .manual = true},
          Tool{.name = "gated", .handler = quick},
          Tool{.name = "asks", .handler = [](const Json&) { return ask_user("when?", {{"a", 1}}); }},
          Tool{.name = "fails", .handler = [](const Json&) { return failure("no"); }}};
}

class Rig {
 public:
  explicit Rig(const Story& story)
      : engine_({.adapter = fake([turns = story.turns](const Request& request) { return answer(turns, request); }),
                 .tools = tools()}) {
    options_.mode = story.mode;
    options_.max_concurrency = 1;
    options_.approve = [](std::span<const ToolCall> calls) {
      std::vector<Approval> decisions;
      for (const ToolCall& call : calls) {
        decisions.push_back(call.name == "gated" ? Approval::suspend() : Approval::allow());
      }
      return decisions;
    };
    if (story.is_structured) {
      options_.response_format = ResponseFormat::json_schema("sum", {{"type", "object"}});
      options_.structured_finalize = true;
    }
  }

  // The next operation that a program would call; submits results first.
  SessionStream next(Session session) const {
    switch (session.status) {
      case SessionStatus::awaiting_user:
        return session_stream_reply(engine_, session, "friday", options_);
      case SessionStatus::awaiting_tools:
        return next_call(std::move(session));
      default:
        return session.thread.messages.empty() ? session_stream_reply(engine_, session, "go", options_)
                                               : session_stream_start(engine_, session, options_);
    }
  }

  static bool is_over(const Session& session) {
    if (session.status == SessionStatus::completed) return true;
    const MessageList& messages = session.thread.messages;
    if (session.status != SessionStatus::idle || messages.empty()) return false;
    const Message& last = messages[messages.size() - 1];
    return last.role == Role::assistant && last.tool_calls.empty();
  }

  // Every session between two operations, the last one at the end.
  std::vector<Session> run(Session session) const {
    std::vector<Session> sessions{session};
    for (int i = 0; i < 20 && !is_over(session); ++i) {
      const Result<SessionTurn> turn = next(session).finish();
      if (!turn) {
        ADD_FAILURE() << turn.error().message();
        break;
      }
      session = turn->session;
      sessions.push_back(session);
    }
    EXPECT_TRUE(is_over(session)) << to_string(session.status);
    return sessions;
  }

 private:
  SessionStream next_call(Session session) const {
    std::vector<CallDecision> decisions;
    for (const PendingToolCall& call : std::vector(session.pending_tool_calls)) {
      if (call.kind == PendingKind::suspended) {
        decisions.push_back({call.id, Approval::allow()});
      } else if (Result<Session> submitted = submit_tool_result(session, call.id, "by hand")) {
        session = *std::move(submitted);
      } else {
        ADD_FAILURE() << submitted.error().message();
      }
    }
    if (decisions.empty()) return session_stream_continue(engine_, session, std::optional<Message>(), options_);
    return session_stream_approve(engine_, session, decisions, options_);
  }

  Engine engine_;
  CallOptions options_;
};

std::multiset<std::string> unanswered(const Thread& thread) {
  std::multiset<std::string> ids;
  for (const Message& message : thread.messages) {
    for (const ToolCall& call : message.tool_calls) ids.insert(call.id);
    if (message.role == Role::tool) ids.erase(ids.find(*message.tool_call_id));
  }
  return ids;
}

void expect_sound(const Session& session) {
  std::multiset<std::string> pending;
  for (const PendingToolCall& call : session.pending_tool_calls) pending.insert(call.id);
  EXPECT_EQ(unanswered(session.thread), pending) << "calls without an answer are pending";
  EXPECT_EQ(session.status == SessionStatus::awaiting_tools, !pending.empty()) << to_string(session.status);
  EXPECT_EQ(session.status == SessionStatus::awaiting_user, session.pending_question.has_value());
  EXPECT_TRUE(validate(session).has_value());
}

Session saved_and_loaded(const Session& session) {
  const Result<std::string> text = to_json(session);
  const Result<Session> loaded = from_json<Session>(text.value_or(""));
  EXPECT_TRUE(loaded.has_value());
  if (loaded) {
    EXPECT_EQ(*loaded, session);
  }
  return loaded.value_or(session);
}

std::vector<std::string> results(const Thread& thread) {
  std::vector<std::string> list;
  for (const Message& message : thread.messages) {
    if (message.role == Role::tool) list.push_back(*message.tool_call_id + "=" + message.text());
    if (message.metadata.is_object() && message.metadata.contains("ask_user")) list.push_back("? " + message.text());
  }
  return list;
}

// Drops the operation that follows `before` after `count` events; returns whether there were so many.
bool drop_after(const Rig& rig, const Session& before, std::size_t count, const Session& end, bool compare_all) {
  SessionStream stream = rig.next(before);
  for (std::size_t i = 0; i < count; ++i) {
    if (!stream.next().has_event()) return false;
  }
  stream.drop();
  const Session left = stream.session();
  expect_sound(left);
  const Session last = rig.run(saved_and_loaded(left)).back();
  EXPECT_EQ(results(last.thread), results(end.thread));
  if (compare_all) {
    EXPECT_EQ(last.thread, end.thread);
  }
  return true;
}

void drop_everywhere(const Story& story) {
  const Rig rig(story);
  const std::vector<Session> sessions = rig.run({.id = "s"});
  for (std::size_t operation = 0; operation + 1 < sessions.size(); ++operation) {
    for (std::size_t count = 0;; ++count) {
      SCOPED_TRACE(story.name + ", operation " + std::to_string(operation) + ", after " + std::to_string(count));
      if (!drop_after(rig, sessions[operation], count, sessions.back(), !story.is_structured)) break;
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(AttackDroppedSession, NothingPendingIsLostAtAnyPosition) {
  for (const bool is_structured : {false, true}) {
    for (const Story& story : std::vector<Story>{
             {"manual", {{"manual"}}},
             {"suspended", {{"gated"}}},
             {"question", {{"asks"}}},
             {"manual beside others", {{"manual", "quick", "fails"}, {"quick"}}},
             {"suspended beside manual and others", {{"gated", "manual", "quick", "gated"}, {"quick", "gated"}}},
             {"question beside others", {{"quick", "asks", "quick"}}},
             {"question beside manual and suspended", {{"manual", "asks", "gated"}, {"quick"}}},
             {"one after the other", {{"asks"}, {"manual"}, {"gated", "gated"}, {"quick"}, {"manual", "gated"}}},
             {"everything is manual", {{"quick", "gated"}, {"asks"}}, false, Mode::manual}}) {
      Story told = story;
      told.is_structured = is_structured;
      drop_everywhere(told);
      if (HasFailure()) return;
    }
  }
}

// The approved call asks a question.
TEST(AttackDroppedSession, AQuestionOfAnApprovedCallIsAskedAgain) {
  const auto script = [](const Request& request) { return answer({{"gated", "gated"}}, request); };
  int asked = 0;
  const Tool gated{.name = "gated", .handler = [&asked](const Json&) {
                     ++asked;
                     return ask_user("when?");
                   }};
  const Engine engine({.adapter = fake(script), .tools = {gated}});
  CallOptions options;
  options.max_concurrency = 1;
  options.approve = [](std::span<const ToolCall> calls) { return std::vector(calls.size(), Approval::suspend()); };
  const Result<SessionTurn> suspended = session_reply(engine, {}, "go", options);
  ASSERT_TRUE(suspended.has_value());
  for (std::size_t count = 0;; ++count) {
    SCOPED_TRACE(count);
    SessionStream stream = session_stream_approve(engine, suspended->session, {{"t0-0", Approval::allow()}}, options);
    bool ended = false;
    for (std::size_t i = 0; i < count && !ended; ++i) {
      const Poll event = stream.next();
      ended = event.has_event() && event->tag() == EventTag::chat_completed;
    }
    stream.drop();
    const Session left = saved_and_loaded(stream.session());
    expect_sound(left);
    if (ended) {
      EXPECT_EQ(left.status, SessionStatus::awaiting_user);
      break;
    }
    ASSERT_EQ(left.status, SessionStatus::awaiting_tools);
    const Result<SessionTurn> again = session_approve(engine, left, {{"t0-0", Approval::allow()}}, options);
    ASSERT_TRUE(again.has_value()) << again.error().message();
    EXPECT_EQ(again->session.pending_question, "when?");
  }
  EXPECT_GT(asked, 0);
}

}  // namespace
}  // namespace allm::dropped_session_attack_test
