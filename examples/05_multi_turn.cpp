// A conversation of several turns.
//
// A model remembers nothing: each request contains the whole conversation. A Thread holds the conversation. It is a
// value whose copies share their messages, so keeping every version costs very little.
#include <cstddef>
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
  // `record` keeps the requests that the model received; they are checked below.
  const auto model = allm::fake(
      {
          {allm::fake_text("Nice to meet you, Ada."), allm::fake_finish(allm::FinishReason::stop)},
          {allm::fake_text("Your name is Ada."), allm::fake_finish(allm::FinishReason::stop)},
      },
      {.record = true});
  const allm::Engine engine({.adapter = model});

  allm::Thread thread = {allm::system("You are brief.")};
  for (const char* line : {"I am Ada.", "What is my name?"}) {
    thread.messages.push_back(allm::user(line));
    const allm::Result<allm::ChatResult> result = allm::chat(engine, thread);
    if (!result) return fail(result.error().message());

    // The thread of the result is `thread` with the answer added. On an error `thread` is unchanged, so that the call
    // can be repeated.
    thread = result->thread;
    std::cout << "user:      " << line << '\n' << "assistant: " << result->text() << '\n';
  }

  const std::size_t sent_first = model->requests()[0].request.messages.size();
  const std::size_t sent_second = model->requests()[1].request.messages.size();
  std::cout << "The model was sent " << sent_first << " messages, then " << sent_second << ".\n";

  if (sent_first != 2 || sent_second != 4) return fail("the whole conversation each time");
  return thread.messages.back().text() == "Your name is Ada." ? 0 : fail(thread.messages.back().text());
}
