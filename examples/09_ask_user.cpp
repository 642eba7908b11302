// A tool that asks the user.
//
// `ask_user` ends the run with a question. The session can be saved until the user replies, in a second or in a week;
// the reply is sent to the model, which continues.
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
      {allm::fake_tool_call("call_1", "ask", {{"question", "Window or aisle?"}}),
       allm::fake_finish(allm::FinishReason::tool_calls)},
      {allm::fake_text("Booked: seat 14A, at the window."), allm::fake_finish(allm::FinishReason::stop)},
  };
}

}  // namespace

int main() {
  const allm::Tool ask = allm::tool({
      .name = "ask",
      .description = "Asks the user a question when something is unclear.",
      .schema = {{"type", "object"},
                 {"properties", {{"question", {{"type", "string"}}}}},
                 {"required", allm::Json::array({"question"})}},
      .handler =
          [](const allm::Json& arguments) {
            // The options are for the program that shows the question; allm only passes them on.
            return allm::ask_user(arguments["question"].get<std::string>(),
                                  {{"choices", allm::Json::array({"window", "aisle"})}});
          },
  });
  const allm::Engine engine({.adapter = allm::fake(script()), .tools = {ask}});

  const allm::Result<allm::SessionTurn> asked = allm::session_reply(engine, allm::Session{}, "Book me a seat.");
  if (!asked) return fail(asked.error().message());
  if (asked->session.status != allm::SessionStatus::awaiting_user) return fail("a session that waits for the user");

  std::cout << "assistant: " << *asked->session.pending_question << '\n';
  for (const allm::Json& choice : std::get<allm::ended::AskUser>(asked->result.end).options["choices"]) {
    std::cout << "           [" << choice.get<std::string>() << "]\n";
  }

  // The same operation as for any other message: the session's status says that a question is pending.
  std::cout << "user:      window\n";
  const allm::Result<allm::SessionTurn> booked = allm::session_reply(engine, asked->session, "window");
  if (!booked) return fail(booked.error().message());
  std::cout << "assistant: " << booked->result.text() << '\n';

  return booked->session.status == allm::SessionStatus::completed ? 0 : fail("a session that gave its answer");
}
