// Another model when one is unavailable, in the middle of a run.
//
// The first model asks for a tool and is then unavailable; the second model gets the result and answers.
#include <iostream>
#include <memory>
#include <string>

#include "allm/allm.hpp"
#include "allm/fake.hpp"

namespace {

int fail(const std::string& why) {
  std::cerr << "not as expected: " << why << '\n';
  return 1;
}

}  // namespace

int main() {
  const allm::Tool weather = allm::tool({
      .name = "weather",
      .description = "Current weather of a city.",
      .handler = [](const allm::Json&) { return allm::ok("sunny"); },
  });
  const allm::Engine primary({
      .adapter =
          allm::fake({{allm::fake_tool_call("call_1", "weather"), allm::fake_finish(allm::FinishReason::tool_calls)},
                      {allm::fake_preflight_error(allm::AdapterError::Reason::provider_unavailable)}}),
      .model = "large-model",
      .tools = {weather},
      .retry = allm::RetryPolicy::off(),
  });
  const allm::Engine secondary({
      .adapter = allm::fake({{allm::fake_text("It is sunny."), allm::fake_finish(allm::FinishReason::stop)}}),
      .model = "other-model",
  });

  const allm::Engine engine = allm::fallback({primary, secondary});
  const auto result = allm::chat(engine, {allm::user("What is the weather in Rome?")});
  if (!result) return fail(result.error().message());
  for (const allm::StepResult& step : result->steps) {
    std::cout << step.response.metadata["fallback"].dump() << '\n';
  }
  std::cout << "assistant: " << result->text() << '\n';
  if (result->steps.at(0).response.metadata["fallback"]["model"] != "large-model") return fail("the first model first");
  if (result->steps.at(1).response.metadata["fallback"]["model"] != "other-model") return fail("then the second");
  return result->text() == "It is sunny." ? 0 : fail("an answer");
}
