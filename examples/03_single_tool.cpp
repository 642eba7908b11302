// A tool: a function that the model may call.
//
// The loop sends the declaration, reads the call, checks its arguments against the schema, runs the handler and sends
// the result back to the model. That takes two model calls: the first asks for the tool, the second answers the user.
#include <iostream>
#include <string>

#include "allm/allm.hpp"
#include "allm/fake.hpp"

namespace {

int fail(const std::string& why) {
  std::cerr << "not as expected: " << why << '\n';
  return 1;
}

// The scripted model: first a tool call, then an answer.
allm::FakeScript script() {
  return {
      {allm::fake_tool_call("call_1", "weather", {{"city", "Rome"}}),
       allm::fake_finish(allm::FinishReason::tool_calls)},
      {allm::fake_text("It is 21 degrees in Rome."), allm::fake_finish(allm::FinishReason::stop)},
  };
}

}  // namespace

int main() {
  const auto model = allm::fake(script());

  const allm::Tool weather = allm::tool({
      .name = "weather",
      .description = "Current weather of a city.",
      .schema = {{"type", "object"},
                 {"properties", {{"city", {{"type", "string"}}}}},
                 {"required", allm::Json::array({"city"})}},
      .handler = [](const allm::Json& arguments) { return allm::ok({{"city", arguments["city"]}, {"celsius", 21}}); },
  });
  const allm::Engine engine({.adapter = model, .tools = {weather}});

  const allm::Thread thread = {allm::user("How is the weather in Rome?")};
  allm::StreamCollector collector(thread);
  for (const allm::Event& event : allm::stream(engine, thread)) {
    collector.apply(event);
    if (const auto* call = event.get_if<allm::ToolExecutionStarted>()) {
      std::cout << "running " << call->name << call->arguments << '\n';
    } else if (const auto* text = event.get_if<allm::TextDelta>()) {
      std::cout << text->delta << std::flush;
    }
  }
  const allm::Result<allm::ChatResult> result = collector.chat_result();

  if (!result) return fail(result.error().message());
  std::cout << "\n\nThe conversation, as the model sees it:\n";
  for (const allm::Message& message : result->thread.messages) {
    std::cout << "  " << allm::to_string(message.role) << ": " << message.text();
    for (const allm::ToolCall& call : message.tool_calls) std::cout << "calls " << call.name << call.arguments;
    std::cout << '\n';
  }

  if (result->steps.size() != 2) return fail("two model calls");
  if (result->thread.messages[2].text() != R"({"city":"Rome","celsius":21})") return fail("the tool's result");
  return result->halted_reason() == allm::halted::completed ? 0 : fail(result->halted_reason());
}
