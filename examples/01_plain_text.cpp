// The smallest program: ask a model, print its answer.
//
// The model is scripted (allm::fake), so this program needs no key. The rest is the same with a real model.
#include <iostream>
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
  const allm::Engine engine({
      .adapter = allm::fake({{allm::fake_text("Paris."), allm::fake_finish(allm::FinishReason::stop)}}),
  });

  // One model call, no tools. A failure before the model's message begins is returned, never thrown.
  const std::string question = "What is the capital of France?";
  const allm::Result<allm::Response> response = allm::generate(engine, {.messages = {allm::user(question)}});
  if (!response) return fail(response.error().message());

  // A response can also be cut off, filtered or interrupted. `unwrap` returns the text of a response that ended
  // normally, and otherwise an error that says how the response ended.
  const allm::Result<std::string> answer = allm::unwrap(*response);
  if (!answer) return fail(answer.error().message());

  std::cout << "user:      " << question << '\n';
  std::cout << "assistant: " << *answer << '\n';
  return *answer == "Paris." ? 0 : fail("another answer");
}
