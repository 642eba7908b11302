// Manual calls that wait for a person: an approval may take days.
//
// A session keeps its pending calls, accepts their answers in any order and refuses answers to calls that are not
// pending. A session with pending calls can be saved like any other.
#include <iostream>
#include <string>

#include "allm/allm.hpp"
#include "allm/fake.hpp"

namespace {

int fail(const std::string& why) {
  std::cerr << "not as expected: " << why << '\n';
  return 1;
}

allm::FakeScript script() {
  return {
      {allm::fake_tool_call("call_1", "approve", {{"document", "budget"}}),
       allm::fake_tool_call("call_2", "approve", {{"document", "contract"}}),
       allm::fake_finish(allm::FinishReason::tool_calls)},
      {allm::fake_text("The budget is approved, the contract is not."), allm::fake_finish(allm::FinishReason::stop)},
  };
}

}  // namespace

int main() {
  const allm::Engine engine({
      .adapter = allm::fake(script()),
      .tools = {allm::tool({.name = "approve", .description = "Asks the board to approve.", .manual = true})},
  });

  const allm::Result<allm::SessionTurn> asked = allm::session_reply(engine, allm::Session{}, "Get both approved.");
  if (!asked) return fail(asked.error().message());
  if (asked->session.status != allm::SessionStatus::awaiting_tools) return fail("a session that waits for its calls");

  // A program would store this, and load it when the board has met.
  const allm::Result<std::string> saved = allm::to_json(asked->session);
  if (!saved) return fail(saved.error().message());
  allm::Result<allm::Session> session = allm::from_json<allm::Session>(*saved);
  if (!session) return fail(session.error().message());
  for (const allm::ToolCall& call : session->pending_tool_calls) {
    std::cout << "pending: " << call.id << ' ' << call.name << call.arguments << '\n';
  }

  // An answer to a call that is not pending changes nothing.
  const auto refused = allm::submit_tool_result(*session, "call_9", "yes");
  if (refused) return fail("an unknown call is refused");
  std::cout << "refused: " << refused.error().message() << '\n';

  session = allm::submit_tool_result(*session, "call_2", {{"approved", false}, {"why", "too long"}});
  if (session) session = allm::submit_tool_result(*session, "call_1", {{"approved", true}});
  if (!session) return fail(session.error().message());

  const allm::Result<allm::SessionTurn> done = allm::session_continue(engine, *session);
  if (!done) return fail(done.error().message());
  std::cout << "assistant: " << done->result.text() << '\n';
  return done->session.status == allm::SessionStatus::completed ? 0 : fail("a session that gave its answer");
}
