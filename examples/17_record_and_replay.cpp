// Record a model once, then test with the recording.
//
// This example records a scripted model, so that it runs without a key; allm::openai() and the other adapters are
// recorded in the same way. The replay needs no network and no key, and costs nothing.
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <unistd.h>

#include "allm/allm.hpp"
#include "allm/fake.hpp"
#include "allm/recording.hpp"

namespace {

int fail(const std::string& why) {
  std::cerr << "not as expected: " << why << '\n';
  return 1;
}

std::shared_ptr<allm::Adapter> model() {
  return allm::fake({
      {allm::fake_tool_call("call_1", "weather", {{"city", "Rome"}}),
       allm::fake_finish(allm::FinishReason::tool_calls)},
      {allm::fake_text("It is 21 degrees "), allm::fake_text("in Rome."), allm::fake_finish(allm::FinishReason::stop)},
  });
}

// The agent under test. It is the same for the model and for the recording.
allm::Result<std::string> ask(const std::shared_ptr<allm::Adapter>& adapter, const char* question) {
  const allm::Tool weather = allm::tool({
      .name = "weather",
      .description = "Current weather of a city.",
      .handler = [](const allm::Json& arguments) { return allm::ok({{"city", arguments["city"]}, {"celsius", 21}}); },
  });
  const allm::Engine engine({.adapter = adapter, .tools = {weather}});
  const allm::Result<allm::ChatResult> result = allm::chat(engine, {allm::user(question)});
  if (!result) return std::unexpected(result.error());
  return result->text();
}

}  // namespace

int main() {
  const std::string name = "allm_example_17_" + std::to_string(::getpid()) + ".jsonl";
  const std::string path = (std::filesystem::temp_directory_path() / name).string();

  // Once: the model itself. Text that looks like a key is redacted in the file.
  const auto recorder = allm::record(model(), path);
  if (!recorder) return fail(recorder.error().message());
  const auto live = ask(*recorder, "How is the weather in Rome? My key is sk-proj-1234567890.");
  if (!live) return fail(live.error().message());
  std::cout << "recorded: " << *live << '\n';

  // From then on: the recording, with the same deltas, tool calls and errors.
  const auto player = allm::replay(path);
  if (!player) return fail(player.error().message());
  const auto again = ask(*player, "How is the weather in Rome? My key is sk-proj-1234567890.");
  if (!again) return fail(again.error().message());
  std::cout << "replayed: " << *again << '\n';
  if (*again != *live) return fail("the same answer");

  // If the agent sends a different request, the error says where the request differs.
  const auto stranger = allm::replay(path);
  std::remove(path.c_str());  // replay() has read it
  if (!stranger) return fail(stranger.error().message());
  const auto other = ask(*stranger, "How is the weather in Oslo?");
  if (other) return fail("nobody asked that when it was recorded");
  const std::string_view problem = other.error().message();
  std::cout << "refused:  " << problem.substr(problem.find("' ") + 2) << '\n';
  return other.error().is<allm::AdapterError>(allm::AdapterError::Reason::invalid_request) ? 0 : fail("the reason");
}
