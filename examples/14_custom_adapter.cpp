// A custom model.
//
// An adapter opens model calls; each call is a source of events that the engine polls. Any such source can be a model:
// a server of your own, a library or, as here, a few rules.
#include <cstddef>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allm/allm.hpp"
#include "allm/conformance.hpp"

namespace {

int fail(const std::string& why) {
  std::cerr << "not as expected: " << why << '\n';
  return 1;
}

// One answer, a word at a time. The events must come in this order: MessageStarted, the model's text, MessageCompleted,
// the end. A model that has to wait keeps the waker, returns Poll::pending() and calls the waker when there is more; it
// never blocks.
class Answer : public allm::EventSource {
 public:
  explicit Answer(std::vector<std::string> words) : words_(std::move(words)) {}

  allm::Poll poll(const allm::Waker&) override {
    if (!started_) {
      started_ = true;
      return allm::Event(allm::MessageStarted{.message = allm::assistant("")});
    }
    if (next_ < words_.size()) {
      text_ += words_[next_];
      return allm::Event(allm::TextDelta{.delta = words_[next_++]});
    }
    if (completed_) return allm::Poll::end();
    completed_ = true;
    return allm::Event(allm::MessageCompleted{
        .message = allm::assistant(text_), .finish_reason = allm::FinishReason::stop, .model = "listener-1"});
  }

 private:
  std::vector<std::string> words_;
  std::string text_;
  std::size_t next_ = 0;
  bool started_ = false;
  bool completed_ = false;
};

// Engines share an adapter and call it from any thread; this one has no state to protect.
class Listener : public allm::Adapter {
 public:
  std::string_view provider() const override { return "listener"; }

  allm::Result<std::unique_ptr<allm::EventSource>> open(const allm::AdapterCall& call) override {
    const std::string said = call.request.messages.back().text();
    // An error that is returned here fails the call; the engine retries temporary errors.
    if (said.empty()) {
      return std::unexpected(
          allm::Error(allm::AdapterError{.reason = allm::AdapterError::Reason::invalid_request, .provider = "listener"},
                      "the listener needs something to listen to"));
    }
    if (said.starts_with("I feel ")) {
      return std::make_unique<Answer>(std::vector<std::string>{"Why ", "do you feel ", said.substr(7), "?"});
    }
    return std::make_unique<Answer>(std::vector<std::string>{"Tell ", "me ", "more."});
  }
};

}  // namespace

int main() {
  const allm::Engine engine({.adapter = std::make_shared<Listener>()});

  allm::Thread thread;
  for (const char* line : {"Good evening.", "I feel tired"}) {
    std::cout << "user:      " << line << "\nassistant: ";
    thread.messages.push_back(allm::user(line));
    // The loop, tools, sessions and retries work as with any other model.
    for (const allm::Event& event : allm::stream(engine, thread)) {
      if (const auto* text = event.get_if<allm::TextDelta>()) std::cout << text->delta;
      if (const auto* done = event.get_if<allm::ChatCompleted>()) thread = done->result->thread;
    }
    std::cout << '\n';
  }
  if (thread.messages.back().text() != "Why do you feel tired?") return fail(thread.messages.back().text());

  const auto silence = allm::chat(engine, {allm::user("")});
  if (silence) return fail("silence is refused");
  std::cout << "refused:   " << silence.error().message() << '\n';
  if (!silence.error().is<allm::AdapterError>(allm::AdapterError::Reason::invalid_request)) return fail("the reason");

  // Checks the rules that the headers state for adapters. Put this into a test of your own.
  // [conformance-adapter]
  const allm::ConformanceReport report = allm::check_adapter(
      [] { return std::make_shared<Listener>(); }, {.request = {.messages = {allm::user("I feel curious")}},
                                                    .failing_request = allm::Request{.messages = {allm::user("")}}});
  std::cout << report.summary();
  if (!report.passed()) return fail("the adapter breaks a promise");
  // [/conformance-adapter]
}
