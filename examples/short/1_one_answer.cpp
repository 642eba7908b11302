// One question, one answer.
#include <iostream>

#include "allm/allm.hpp"
#include "allm/testing.hpp"

int main() {
  // A real model: const allm::Engine engine = allm::engine_for("openai:gpt-4.1-mini").value();
  const allm::Engine engine({.adapter = allm::fake({{allm::fake_text("Air scatters blue light more than red light."),
                                                     allm::fake_finish(allm::FinishReason::stop)}})});

  const allm::Result<std::string> answer = allm::ask(engine, "Why is the sky blue?");
  if (!answer) {
    std::cerr << answer.error().message() << '\n';
    return 1;
  }
  std::cout << *answer << '\n';
}
