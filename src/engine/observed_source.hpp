// The outermost layer of every stream: passes events to the option `on_event`, then drops those that the consumer did
// not ask for.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "allm/options.hpp"
#include "allm/stream.hpp"

namespace allm {

class ObservedSource : public EventSource {
 public:
  ObservedSource(std::unique_ptr<EventSource> inner, const CallOptions& options);
  Poll poll(const Waker& waker) override;

 private:
  Poll poll_inner(const Waker& waker);
  Poll poll_held();
  // Passes the event to the observer; returns whether the consumer gets it, too.
  bool observe(Poll& polled);
  bool passes(const Event& event);

  std::unique_ptr<EventSource> inner_;
  std::function<void(const Event&)> on_event_;
  bool text_deltas_;
  bool tool_deltas_;
  bool shows_reasoning_;
  bool raw_chunks_;
  // The message's text and reasoning so far, collected while their deltas are dropped.
  std::string dropped_text_;
  std::string dropped_reasoning_;
  std::deque<Event> held_;  // delivered after the events that were inserted before them
};

// A stream of the source's events, filtered as the options say.
EventStream observed_stream(std::unique_ptr<EventSource> inner, const CallOptions& options);
// A source and a stream whose only event is the error.
std::unique_ptr<EventSource> failed_source(Error error);
EventStream failed_stream(Error error, const CallOptions& options);

}  // namespace allm
