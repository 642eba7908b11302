// Manual mode: the loop runs no tool. The program answers every call and then continues the run.
//
// For programs that decide on each call themselves: they ask for permission, run the call elsewhere, or answer it from
// a cache.
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
      {allm::fake_tool_call("call_1", "read_file", {{"path", "notes.txt"}}),
       allm::fake_tool_call("call_2", "delete_file", {{"path", "notes.txt"}}),
       allm::fake_finish(allm::FinishReason::tool_calls)},
      {allm::fake_text("I read the notes; deleting them was not allowed."),
       allm::fake_finish(allm::FinishReason::stop)},
  };
}

// How this program answers calls: reading is allowed, everything else is not.
std::string run_by_hand(const allm::ToolCall& call) {
  if (call.name == "read_file") return "Buy milk.";
  return R"({"error": "not permitted"})";
}

}  // namespace

int main() {
  // No handlers are needed: the model gets the declarations only.
  const allm::Engine engine({
      .adapter = allm::fake(script()),
      .tools = {allm::tool({.name = "read_file", .description = "Reads a file."}),
                allm::tool({.name = "delete_file", .description = "Deletes a file."})},
  });
  const allm::CallOptions manual = {.mode = allm::Mode::manual};

  allm::Result<allm::ChatResult> result = allm::chat(engine, {allm::user("Read my notes, then delete them.")}, manual);
  int answered = 0;
  while (result && result->halted_reason() == allm::halted::manual_tool_calls) {
    allm::Thread thread = result->thread;  // its last message has the model's calls
    for (const allm::ToolCall& call : result->final_response->tool_calls) {
      const std::string content = run_by_hand(call);
      std::cout << call.name << call.arguments << " -> " << content << '\n';
      // Every call needs an answer before the next model call: providers require that.
      thread.messages.push_back(allm::tool_result(call.id, content));
      ++answered;
    }
    result = allm::chat(engine, thread, manual);
  }
  if (!result) return fail(result.error().message());
  std::cout << result->text() << '\n';

  if (answered != 2) return fail("two calls answered");
  return result->halted_reason() == allm::halted::completed ? 0 : fail(result->halted_reason());
}
