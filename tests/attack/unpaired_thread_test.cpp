// Threads in which calls and results do not fit together, as a damaged file or another program may have left them: the
// error names the message and the call, or the request that is sent has a result for each call.
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/allm.hpp"
#include "allm/fake.hpp"

namespace allm::unpaired_thread_attack_test {
namespace {

Message calls(const std::vector<std::string>& ids) {
  Message message = assistant("");
  for (const std::string& id : ids) message.tool_calls.push_back({.id = id, .name = "look"});
  return message;
}
Message result(const std::string& id) { return tool_result(id, "1"); }

struct Case {
  std::string name;
  Thread thread;
  std::string word = {};  // of the error; "" if the thread is sent
  std::size_t index = 0;  // of the message that the error names
  std::string id = {};    // the call that the error names
};

std::vector<Case> refused() {
  return {
      {"a result without a call", {user("hi"), result("x")}, "orphan_tool_message", 1, "x"},
      {"a result at the beginning", {result("x"), user("hi")}, "orphan_tool_message", 0, "x"},
      {"a result before its call", {user("hi"), result("a"), calls({"a"})}, "orphan_tool_message", 1, "a"},
      {"a result of another call", {user("hi"), calls({"a"}), result("b")}, "orphan_tool_message", 2, "b"},
      {"a result after a message",
       {user("hi"), calls({"a"}), user("well?"), result("a")},
       "orphan_tool_message",
       3,
       "a"},
      {"a result of an earlier turn",
       {user("hi"), calls({"a"}), result("a"), calls({"b"}), result("b"), result("a")},
       "orphan_tool_message",
       5,
       "a"},
      {"two results of a call", {user("hi"), calls({"a"}), result("a"), result("a")}, "duplicate_tool_message", 3, "a"},
      {"two calls with one id", {user("hi"), calls({"a", "a"}), result("a")}, "duplicate_tool_call_id", 1, "a"},
      {"two calls and results with one id",
       {user("hi"), calls({"b", "a", "b"}), result("b"), result("a"), result("b")},
       "duplicate_tool_call_id",
       1,
       "b"},
  };
}

std::vector<Case> sent() {
  return {
      {"a call without a result at the end", {user("hi"), calls({"a"})}},
      {"a call without a result in the middle", {user("hi"), calls({"a"}), user("well?")}},
      {"one of three results", {user("hi"), calls({"a", "b", "c"}), result("b"), user("well?")}},
      {"two turns without results", {user("hi"), calls({"a"}), calls({"a", "b"}), result("b")}},
      {"results in another order", {user("hi"), calls({"a", "b"}), result("b"), result("a")}},
      {"an id that is used again", {user("hi"), calls({"a"}), result("a"), calls({"a"}), result("a"), user("more")}},
  };
}

// Whether each call is answered once, directly after its message.
bool is_paired(const MessageList& messages) {
  std::vector<std::string> open;
  for (const Message& message : messages) {
    if (message.role == Role::tool) {
      if (std::erase(open, *message.tool_call_id) != 1) return false;
      continue;
    }
    if (!open.empty()) return false;
    for (const ToolCall& call : message.tool_calls) open.push_back(call.id);
  }
  return open.empty();
}

// Every way to send a thread. Returns the error, if there is one.
struct Way {
  std::string name;
  std::optional<Error> (*send)(const Engine&, const Thread&);
};

template <class T>
std::optional<Error> error_of(const Result<T>& result) {
  return result ? std::optional<Error>() : result.error();
}

std::vector<Way> ways() {
  return {
      {"chat", [](const Engine& engine, const Thread& thread) { return error_of(chat(engine, thread)); }},
      {"stream", [](const Engine& engine, const Thread& thread) { return error_of(stream(engine, thread).finish()); }},
      {"step", [](const Engine& engine, const Thread& thread) { return error_of(step(engine, thread)); }},
      {"generate", [](const Engine& engine,
                      const Thread& thread) { return error_of(generate(engine, {.messages = thread.messages})); }},
      {"session_start",
       [](const Engine& engine, const Thread& thread) { return error_of(session_start(engine, {.thread = thread})); }},
      {"session_step",
       [](const Engine& engine, const Thread& thread) { return error_of(session_step(engine, {.thread = thread})); }},
      {"a loaded session",
       [](const Engine& engine, const Thread& thread) {
         const Result<std::string> text = to_json(Session{.thread = thread});
         return error_of(session_start(engine, from_json<Session>(text.value()).value()));
       }},
  };
}

std::shared_ptr<FakeAdapter> model() {
  return fake({{fake_text("hello"), fake_finish(FinishReason::stop)}}, {.record = true});
}

TEST(AttackUnpairedThread, ResultsWithoutTheirCallsAreRefused) {
  for (const Case& wrong : refused()) {
    for (const Way& way : ways()) {
      SCOPED_TRACE(wrong.name + ", " + way.name);
      const auto adapter = model();
      const std::optional<Error> error = way.send(Engine({.adapter = adapter}), wrong.thread);
      EXPECT_EQ(adapter->calls(), 0U) << "nothing is sent";
      ASSERT_TRUE(error.has_value());
      const auto* detail = error->get_if<ValidationError>();
      ASSERT_NE(detail, nullptr) << error->message();
      ASSERT_EQ(detail->errors.size(), 1U);
      EXPECT_EQ(detail->errors[0].reason, wrong.word);
      EXPECT_NE(error->message().find("message " + std::to_string(wrong.index)), std::string::npos) << error->message();
      EXPECT_NE(error->message().find("'" + wrong.id + "'"), std::string::npos) << error->message();
    }
  }
}

TEST(AttackUnpairedThread, CallsWithoutAResultAreSentWithOne) {
  for (const Case& good : sent()) {
    for (const Way& way : ways()) {
      SCOPED_TRACE(good.name + ", " + way.name);
      const auto adapter = model();
      const std::optional<Error> error = way.send(Engine({.adapter = adapter}), good.thread);
      ASSERT_FALSE(error.has_value()) << error->message();
      ASSERT_EQ(adapter->calls(), 1U);
      EXPECT_TRUE(is_paired(adapter->requests()[0].request.messages));
    }
  }
}

TEST(AttackUnpairedThread, TheThreadItselfIsNotChanged) {
  const Thread thread{user("hi"), calls({"a", "b"}), result("b"), user("well?")};
  const auto adapter = model();
  const Result<ChatResult> answer = chat(Engine({.adapter = adapter}), thread);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->thread.messages.first(4), thread.messages);
  const MessageList messages = adapter->requests()[0].request.messages;
  ASSERT_EQ(messages.size(), 5U);
  EXPECT_EQ(messages[3].tool_call_id, "a");
  EXPECT_EQ(messages[3].text(), R"({"error":"no result of this call is known","reason":"not_run"})");
}

// The results are added in every request of a run, and the prefix stays the same.
TEST(AttackUnpairedThread, LaterStepsAreSentWithThem) {
  const auto adapter = fake({{fake_tool_call("c", "look"), fake_finish(FinishReason::tool_calls)},
                             {fake_tool_call("d", "look"), fake_finish(FinishReason::tool_calls)},
                             {fake_text("hello"), fake_finish(FinishReason::stop)}},
                            {.record = true});
  const Tool look{.name = "look", .handler = [](const Json&) { return ok(1); }};
  ASSERT_TRUE(
      chat(Engine({.adapter = adapter, .tools = {look}}), {user("hi"), calls({"a"}), user("well?")}).has_value());
  const std::vector<AdapterCall> requests = adapter->requests();
  ASSERT_EQ(requests.size(), 3U);
  for (const AdapterCall& call : requests) {
    EXPECT_TRUE(is_paired(call.request.messages));
    EXPECT_EQ(call.request.messages.first(4), requests[0].request.messages);
  }
}

TEST(AttackUnpairedThread, PendingCallsThatTheThreadDoesNotHaveAreNotAnswered) {
  const auto adapter = model();
  const Engine engine({.adapter = adapter});
  Session session{.thread = {user("hi"), assistant("hello")},
                  .status = SessionStatus::awaiting_tools,
                  .pending_tool_calls = {{{.id = "x", .name = "look"}, PendingKind::suspended}}};
  const Result<SessionTurn> approved = session_approve(engine, session, {{"x", Approval::deny("no")}});
  ASSERT_FALSE(approved.has_value());
  EXPECT_NE(approved.error().message().find("'x'"), std::string::npos);
  const Result<Session> submitted = submit_tool_result(session, "x", 1);
  ASSERT_TRUE(submitted.has_value());
  const Result<SessionTurn> continued = session_continue(engine, *submitted);
  ASSERT_FALSE(continued.has_value());
  EXPECT_NE(continued.error().message().find("message 2"), std::string::npos) << continued.error().message();
  EXPECT_EQ(adapter->calls(), 0U);
}

}  // namespace
}  // namespace allm::unpaired_thread_attack_test
