// The program runs one tool, the loop runs the others.
//
// The loop never runs a tool that is marked `manual`. If the model calls it together with other tools, the others run
// as usual, and the run ends with the manual calls pending.
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
      {allm::fake_tool_call("call_1", "balance"), allm::fake_tool_call("call_2", "transfer", {{"amount", 40}}),
       allm::fake_finish(allm::FinishReason::tool_calls)},
      {allm::fake_text("Done. You have 60 left."), allm::fake_finish(allm::FinishReason::stop)},
  };
}

}  // namespace

int main() {
  const allm::Tool balance = allm::tool({
      .name = "balance",
      .description = "The balance of the account.",
      .handler = [](const allm::Json&) { return allm::ok({{"balance", 100}}); },
  });
  // Only the program sends money, so this tool has no handler.
  const allm::Tool transfer = allm::tool({.name = "transfer", .description = "Sends money.", .manual = true});
  const allm::Engine engine({.adapter = allm::fake(script()), .tools = {balance, transfer}});

  const allm::Result<allm::ChatResult> paused = allm::chat(engine, {allm::user("Send 40 to Bob.")});
  if (!paused) return fail(paused.error().message());
  if (paused->halted_reason() != allm::halted::manual_tool_calls) return fail(paused->halted_reason());
  std::cout << "run by the loop: " << paused->steps[0].tool_results[0].text() << '\n';

  allm::Thread thread = paused->thread;
  for (const allm::ToolCall& call : paused->manual_tool_calls()) {
    std::cout << "run by hand:     " << call.name << call.arguments << '\n';
    thread.messages.push_back(allm::tool_result(call.id, R"({"sent": 40})"));
  }

  const allm::Result<allm::ChatResult> result = allm::chat(engine, thread);
  if (!result) return fail(result.error().message());
  std::cout << "assistant:       " << result->text() << '\n';

  if (paused->manual_tool_calls().size() != 1) return fail("one manual call");
  return result->halted_reason() == allm::halted::completed ? 0 : fail(result->halted_reason());
}
