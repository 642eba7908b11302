// A real model by name: the same program for OpenAI, Anthropic, Gemini, Ollama and every server that
// speaks OpenAI's protocol.
//
//   OPENAI_API_KEY=… example_18_real_model openai:gpt-4.1-mini
//   example_18_real_model ollama:qwen3:8b
//
// Without an argument it shows the error for a missing key, and sends nothing.
#include <iostream>
#include <string>

#include "allm/allm.hpp"

namespace {

int fail(const std::string& why) {
  std::cerr << "not as expected: " << why << '\n';
  return 1;
}

int ask(const std::string& name) {
  // [real-model]
  const allm::Tool weather = allm::tool({
      .name = "weather",
      .description = "Current weather of a city.",
      .schema = {{"type", "object"},
                 {"properties", {{"city", {{"type", "string"}}}}},
                 {"required", allm::Json::array({"city"})}},
      .handler = [](const allm::Json& arguments) { return allm::ok({{"city", arguments["city"]}, {"celsius", 21}}); },
  });
  const allm::Result<allm::Engine> engine = allm::engine_for(name, {.tools = {weather}});
  if (!engine) return fail(engine.error().message());

  const allm::Thread thread = {allm::user("How is the weather in Rome?")};
  allm::StreamCollector collector(thread);
  for (const allm::Event& event : allm::stream(*engine, thread, {.run_timeout = std::chrono::minutes(2)})) {
    collector.apply(event);
    if (const auto* text = event.get_if<allm::TextDelta>()) std::cout << text->delta << std::flush;
  }
  const allm::Result<allm::ChatResult> result = collector.chat_result();
  if (!result) return fail(result.error().message());
  std::cout << "\n(" << result->usage.total().value_or(0) << " tokens";
  if (result->usage.total_cost) std::cout << ", " << *result->usage.total_cost << " dollars";
  std::cout << ")\n";
  // [/real-model]
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) return ask(argv[1]);

  // A provider that has no key on this machine, so that nothing is sent.
  const allm::Result<allm::Engine> engine =
      allm::engine_for("nobody@https://127.0.0.1:9/v1:some-model", {.retry = allm::RetryPolicy::off()});
  if (!engine) return fail(engine.error().message());
  const allm::Result<allm::ChatResult> result = allm::chat(*engine, {allm::user("Is anybody there?")});
  if (result) return fail("nobody answers");
  std::cout << result.error().kind() << ": " << result.error().reason() << '\n';

  const allm::Result<allm::Engine> unknown = allm::engine_for("gpt-4.1-mini");
  if (unknown) return fail("a name needs its provider");
  std::cout << unknown.error().message() << '\n';
  return 0;
}
