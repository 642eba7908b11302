// Saved sessions that were damaged or forged: each is either refused with an error that says why, or every operation on
// it returns a result. Nothing throws, and what is accepted can be saved again.
#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/allm.hpp"
#include "allm/fake.hpp"

#include "tests/cases.hpp"

namespace allm::mutated_session_attack_test {
namespace {

using Random = std::minstd_rand;

std::size_t below(Random& random, std::size_t bound) { return random() % std::max<std::size_t>(bound, 1); }

Engine engine() {
  const auto answer = [](const Request& request) -> FakeCallScript {
    const MessageList& messages = request.messages;
    if (!messages.empty() && messages[messages.size() - 1].role == Role::user) {
      return {fake_tool_call("c" + std::to_string(messages.size()), "quick"),
              fake_tool_call("d" + std::to_string(messages.size()), "manual"), fake_finish(FinishReason::tool_calls)};
    }
    return {fake_text("the answer"), fake_finish(FinishReason::stop)};
  };
  return Engine({.adapter = fake(answer),
                 .tools = {Tool{.name = "quick", .handler = [](const Json&) { return ok(1); }},
                           Tool{.name = "manual", .manual = true},
                           Tool{.name = "asks", .handler = [](const Json&) { return ask_user("when?"); }}}});
}

// A session of each status, as a program saves it.
std::vector<Json> seeds() {
  const ToolCall call{.id = "a", .name = "quick", .arguments = {{"x", 1}}, .raw_arguments = R"({"x":1})"};
  const ToolCall pending{.id = "b", .name = "manual"};
  Message calls = assistant("I call.");
  calls.tool_calls = {call, pending};
  calls.metadata["finish_reason"] = "tool_calls";
  Message broken = assistant("I was inter");
  broken.metadata["finish_reason"] = "error";
  const Message result = tool_result("a", "1");
  const std::vector<Session> sessions{
      {.id = "s", .thread = {system("brief"), user("hi")}},
      {.thread = {user("hi"), assistant("hello")}, .status = SessionStatus::completed, .context = {{"user", 1}}},
      {.thread = {user("hi"), calls, result},
       .status = SessionStatus::awaiting_tools,
       .pending_tool_calls = {{pending, PendingKind::manual}}},
      {.thread = {user("hi"), calls, result},
       .status = SessionStatus::awaiting_tools,
       .pending_tool_calls = {{pending, PendingKind::suspended}}},
      {.thread = {user("hi"), calls, result, tool_result("b", "2"), assistant("when?")},
       .status = SessionStatus::awaiting_user,
       .pending_question = "when?",
       .pending_tool_call_id = "b"},
      {.thread = {user("hi"), broken},
       .status = SessionStatus::error,
       .metadata = {{"error", {{"message", "the connection was lost"}}}}}};
  std::vector<Json> list;
  for (const Session& session : sessions) list.push_back(Json::parse(to_json(session).value()));
  return list;
}

Json any_value(Random& random) {
  switch (below(random, 12)) {
    case 0:
      return nullptr;
    case 1:
      return below(random, 2) == 0;
    case 2:
      return static_cast<std::int64_t>(random()) - 1'000'000'000;
    case 3:
      return 0.5;
    case 4:
      return Json::array();
    case 5:
      return Json::object();
    case 6:
      return {nullptr, "a", 1};
    case 7:
      return {{"error", nullptr}, {"finish_reason", {1}}, {"tool_calls", "b"}};
    case 8:
      return "";
    case 9:
      return "a";
    case 10:
      return std::array{"idle", "completed", "awaiting_user", "awaiting_tools", "error"}[below(random, 5)];
    default:
      return std::array{"tool", "assistant", "user", "system", "b", "c2", "ALLM.ToolCall", "1.0"}[below(random, 8)];
  }
}

// All places in the value; the value must not change while they are used.
void collect(Json& value, std::vector<Json*>& places) {
  places.push_back(&value);
  for (Json& element : value) {
    if (value.is_structured()) collect(element, places);
  }
}

Json* any_place(Random& random, Json& value) {
  std::vector<Json*> places;
  collect(value, places);
  return places[below(random, places.size())];
}

void mutate(Random& random, Json& value) {
  Json& place = *any_place(random, value);
  switch (below(random, 6)) {
    case 0:
      if (place.is_array() && !place.empty()) {
        place.erase(below(random, place.size()));
      } else if (place.is_object() && !place.empty()) {
        auto member = place.begin();
        std::advance(member, static_cast<std::ptrdiff_t>(below(random, place.size())));
        place.erase(member);
      }
      return;
    case 1:
      if (place.is_array() && !place.empty()) place.push_back(Json(place[below(random, place.size())]));
      return;
    case 2:
      if (place.is_array() && place.size() > 1) std::swap(place.front(), place.back());
      return;
    case 3: {
      const Json copy = *any_place(random, value);
      place = copy;
      return;
    }
    default:
      place = any_value(random);
  }
}

class Attack {
 public:
  explicit Attack(Session session) : session_(std::move(session)) {}

  void run() {
    (void)validate(session_);
    expect_saved(session_);
    note(session_start(engine_, session_, options()));
    note(session_reply(engine_, session_, "hi", options()));
    note(session_continue(engine_, session_, std::optional<Message>(), options()));
    note(session_continue(engine_, session_, std::optional<Message>(user("more")), options()));
    note(session_step(engine_, session_, options()));
    note(session_approve(engine_, session_, decisions(Approval::allow()), options()));
    note(session_approve(engine_, session_, decisions(Approval::deny("no")), options()));
    note(session_recover(session_));
    for (const PendingToolCall& call : session_.pending_tool_calls) note(submit_tool_result(session_, call.id, 1));
    note(submit_tool_result(session_, "a", nullptr));
  }

 private:
  static CallOptions options() { return {.max_turns = 3}; }
  std::vector<CallDecision> decisions(const Approval& approval) const {
    std::vector<CallDecision> list;
    for (const PendingToolCall& call : session_.pending_tool_calls) list.push_back({call.id, approval});
    return list;
  }
  static void expect_saved(const Session& session) {
    const Result<std::string> text = to_json(session);
    ASSERT_TRUE(text.has_value()) << text.error().message();
    const Result<Session> loaded = from_json<Session>(*text);
    ASSERT_TRUE(loaded.has_value()) << loaded.error().message() << *text;
    EXPECT_EQ(*loaded, session) << *text;
  }
  static const Session& session_of(const Session& session) { return session; }
  template <class Turn>
  static const Session& session_of(const Turn& turn) {
    return turn.session;
  }
  template <class T>
  static void note(const Result<T>& result) {
    if (result) return expect_saved(session_of(*result));
    EXPECT_FALSE(result.error().message().empty());
  }

  Engine engine_ = engine();
  Session session_;
};

// Returns whether the text was accepted.
bool attack(const std::string& text) {
  SCOPED_TRACE(text);
  try {
    Result<Session> session = from_json<Session>(text);
    if (!session) {
      EXPECT_FALSE(session.error().message().empty());
      return false;
    }
    Attack(*std::move(session)).run();
  } catch (const std::exception& exception) {
    ADD_FAILURE() << "an operation threw: " << exception.what();
  }
  return true;
}

TEST(AttackMutatedSession, IsRefusedOrEveryOperationReturnsAResult) {
  const std::vector<Json> saved = seeds();
  Random random(15);
  int accepted = 0;
  const int count = testing::cases(600);
  for (int i = 0; i < count && !HasFailure(); ++i) {
    Json session = saved[below(random, saved.size())];
    for (std::size_t left = 1 + below(random, 3); left > 0; --left) mutate(random, session);
    if (attack(session.dump())) ++accepted;
  }
  EXPECT_GT(accepted, count / 20) << "most mutations are refused: the operations are hardly tried";
}

// Programs make sessions, too: any JSON value may be anywhere.
TEST(AttackMutatedSession, SessionsOfAProgramMayHaveAnyMetadata) {
  for (const Json& value : {Json(nullptr), Json(1), Json("text"), Json::array({1}), Json::object(), Json(true)}) {
    for (const SessionStatus status : {SessionStatus::idle, SessionStatus::completed, SessionStatus::awaiting_user,
                                       SessionStatus::awaiting_tools, SessionStatus::error}) {
      Message last = assistant("hello");
      last.metadata = value;
      Thread thread{user("hi"), last};
      thread.metadata = value;
      Session session{.thread = thread, .status = status, .metadata = value};
      SCOPED_TRACE(value.dump() + " " + std::string(to_string(status)));
      EXPECT_NO_THROW({
        const Engine model = engine();
        (void)session_recover(session);
        (void)session_reply(model, session, "hi");
        (void)session_start(model, session);
        (void)session_step(model, session);
        session.context = value;
        (void)session_reply(model, session, "hi");
      });
    }
  }
}

}  // namespace
}  // namespace allm::mutated_session_attack_test
