// A session is a conversation as plain data: it can be saved, loaded elsewhere and continued.
//
// It has no engine, no connection and no handler, so that JSON can represent all of it.
#include <iostream>
#include <string>
#include <utility>

#include "allm/allm.hpp"
#include "allm/fake.hpp"

namespace {

int fail(const std::string& why) {
  std::cerr << "not as expected: " << why << '\n';
  return 1;
}

allm::Engine make_engine(allm::FakeScript script) {
  return allm::Engine({
      .adapter = allm::fake(std::move(script)),
      .tools = {allm::tool({
          .name = "add_item",
          .description = "Puts an item on the shopping list.",
          .handler = [](const allm::Json& arguments) { return allm::ok({{"added", arguments["item"]}}); },
      })},
  });
}

}  // namespace

int main() {
  // In one process: the first turn.
  const allm::Engine today = make_engine({
      {allm::fake_tool_call("call_1", "add_item", {{"item", "milk"}}),
       allm::fake_finish(allm::FinishReason::tool_calls)},
      {allm::fake_text("Milk is on the list."), allm::fake_finish(allm::FinishReason::stop)},
  });
  const allm::Result<allm::SessionTurn> first = allm::session_reply(today, {.id = "shopping"}, "We need milk.");
  if (!first) return fail(first.error().message());
  std::cout << "assistant: " << first->result.text() << '\n';

  const allm::Result<std::string> saved = allm::to_json(first->session);
  if (!saved) return fail(saved.error().message());
  std::cout << "saved:     " << saved->size() << " bytes, " << saved->substr(0, 48) << "...\n";

  // Perhaps in another process, perhaps tomorrow: the second turn.
  const allm::Result<allm::Session> loaded = allm::from_json<allm::Session>(*saved);
  if (!loaded) return fail(loaded.error().message());
  if (*loaded != first->session) return fail("what was saved");

  const allm::Engine tomorrow = make_engine({
      {allm::fake_text("Only milk."), allm::fake_finish(allm::FinishReason::stop)},
  });
  const allm::Result<allm::SessionTurn> second = allm::session_reply(tomorrow, *loaded, "What is on the list?");
  if (!second) return fail(second.error().message());
  std::cout << "assistant: " << second->result.text() << '\n';

  // user, call, result, answer; user, answer.
  std::cout << "messages:  " << second->session.thread.messages.size() << '\n';
  return second->session.thread.messages.size() == 6 ? 0 : fail("six messages");
}
