// A conversation that is too long for the model: prepare_step sends a shorter one, and the thread keeps everything.
//
// The first run sends only the last messages. The second run replaces older messages by a summary of a cheaper model.
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

allm::FakeCallScript says(const std::string& text) {
  return {allm::fake_text(text), allm::fake_finish(allm::FinishReason::stop)};
}

allm::Thread long_thread() {
  allm::Thread thread = {allm::system("You are a travel guide.")};
  for (int day = 1; day <= 10; ++day) {
    thread.messages.push_back(allm::user("What did we plan for day " + std::to_string(day) + "?"));
    thread.messages.push_back(allm::assistant("A walk, a museum and a good dinner."));
  }
  thread.messages.push_back(allm::user("And how long is the whole trip?"));
  return thread;
}

void show(const std::string& title, const allm::MessageList& messages) {
  std::cout << title << '\n';
  for (const allm::Message& message : messages) std::cout << "  " << message.text() << '\n';
}

}  // namespace

int main() {
  const allm::Thread thread = long_thread();
  const auto model = allm::fake({says("Ten days."), says("Ten days."), says("Ten days.")}, {.record = true});
  const allm::Engine engine({.adapter = model});
  allm::CallOptions options;

  options.prepare_step = allm::keep_last(3);
  auto result = allm::chat(engine, thread, options);
  if (!result) return fail(result.error().message());
  show("keep_last(3) sends:", model->requests().at(0).request.messages);
  if (model->requests().at(0).request.messages.size() != 4) return fail("the system message and the last three");
  if (result->thread.messages.size() != thread.messages.size() + 1) return fail("the whole thread in the result");

  const auto cheap = allm::fake({says("A trip of ten days, planned day by day.")});
  options.prepare_step = allm::compact({.over_tokens = 100}, allm::Engine({.adapter = cheap}), {.keep_last = 3});
  result = allm::chat(engine, thread, options);
  if (!result) return fail(result.error().message());
  show("compact sends:", model->requests().at(1).request.messages);
  if (model->requests().at(1).request.messages.size() != 5) return fail("a summary in place of older messages");

  // The hook keeps the summary: the next run does not ask for it again.
  result = allm::chat(engine, thread, options);
  if (!result) return fail(result.error().message());
  return cheap->calls() == 1 ? 0 : fail("one summary");
}
