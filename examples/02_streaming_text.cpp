// Text, shown while the model writes it.
//
// A stream is a range of events. It is lazy: the model is called when the first event is read, and the stream is never
// faster than its reader.
#include <chrono>
#include <iostream>
#include <string>

#include "allm/allm.hpp"
#include "allm/fake.hpp"

namespace {

using std::chrono::milliseconds;

int fail(const std::string& why) {
  std::cerr << "not as expected: " << why << '\n';
  return 1;
}

}  // namespace

int main() {
  const allm::Engine engine({
      .adapter = allm::fake(
          {{allm::fake_text("The sea "), allm::fake_delay(milliseconds(30)), allm::fake_text("is calm "),
            allm::fake_delay(milliseconds(30)), allm::fake_text("tonight."),
            allm::fake_usage({.input_tokens = 12, .output_tokens = 6}), allm::fake_finish(allm::FinishReason::stop)}}),
  });

  const allm::Thread thread = {allm::user("Say something about the sea.")};

  // The collector folds events into the result that `chat` would have returned, so a program can show a run and keep
  // its result.
  allm::StreamCollector collector(thread);
  int deltas = 0;
  for (const allm::Event& event : allm::stream(engine, thread)) {
    collector.apply(event);
    if (const auto* text = event.get_if<allm::TextDelta>()) {
      std::cout << text->delta << std::flush;
      ++deltas;
    }
  }
  std::cout << '\n';

  const allm::Result<allm::ChatResult> result = collector.chat_result();
  if (!result) return fail(result.error().message());
  std::cout << "(" << deltas << " pieces, " << result->usage.total().value_or(0) << " tokens, ended as "
            << result->halted_reason() << ")\n";

  if (deltas != 3) return fail("three pieces of text");
  if (result->text() != "The sea is calm tonight.") return fail(result->text());
  return 0;
}
