// The outermost layer of every stream: shows events to the option `on_event`, then drops those that
// the consumer did not ask for.
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
  // Shows the event to the observer; whether it is for the consumer too.
  bool observe(Poll& polled);
  bool passes(const Event& event);

  std::unique_ptr<EventSource> inner_;
  std::function<void(const Event&)> on_event_;
  bool text_deltas_;
  bool tool_deltas_;
  bool shows_reasoning_;
  bool raw_chunks_;
  // Of the message so far, where its events are dropped.
  std::string dropped_text_;
  std::string dropped_reasoning_;
  std::deque<Event> held_;  // follow what was put before them
};

// A stream of the source's events as the options want them.
EventStream observed_stream(std::unique_ptr<EventSource> inner, const CallOptions& options);
// A stream that fails at once.
EventStream failed_stream(Error error, const CallOptions& options);

}  // namespace allm
