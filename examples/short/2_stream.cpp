// An answer that is printed while the model writes it.
#include <iostream>

#include "allm/allm.hpp"
#include "allm/testing.hpp"

int main() {
  // A real model: const allm::Engine engine = allm::engine_for("openai:gpt-4.1-mini").value();
  const allm::FakeCallScript script = {allm::fake_text("The sea "), allm::fake_delay(std::chrono::milliseconds(100)),
                                       allm::fake_text("is calm tonight."),
                                       allm::fake_usage({.input_tokens = 12, .output_tokens = 6}),
                                       allm::fake_finish(allm::FinishReason::stop)};
  const allm::Engine engine({.adapter = allm::fake({script})});

  allm::ChatStream stream = allm::stream(engine, {allm::user("Write a sentence about the sea.")});
  for (const allm::Event& event : stream) {
    if (const auto* text = event.get_if<allm::TextDelta>()) std::cout << text->delta << std::flush;
  }
  const allm::Result<allm::ChatResult> result = stream.finish();
  if (!result) {
    std::cerr << result.error().message() << '\n';
    return 1;
  }
  std::cout << "\n(" << result->usage.total().value_or(0) << " tokens)\n";
}
