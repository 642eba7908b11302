// One model call: opens the adapter's stream, retries it while nothing has been delivered, and keeps
// it to the protocol of events.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "allm/adapter.hpp"

#include "engine/run.hpp"
#include "engine/span.hpp"
#include "runtime/alarm.hpp"

namespace allm {

// Gives the model's events. A call that fails gives an ErrorEvent and ends. `call` must outlive it.
class ModelCall : public EventSource {
 public:
  // `parent`: the span that the call is a part of, if it is not the run's own parent.
  ModelCall(std::shared_ptr<const Run> run, const AdapterCall& call, SpanId parent = {});
  Poll poll(const Waker& waker) override;

  // After the end of a message that is complete: tells telemetry what the call came to.
  void came_to(const Response& response) { generate_.stop({.response = &response}); }
  // Why the run ended the call, if it did: its last event is then an ErrorEvent that says so.
  const std::optional<RunEnd>& ended() const { return ended_; }

 private:
  void open();
  // Adds what only this call knows: costs, the run's id, the reasoning so far.
  void add_facts(MessageCompleted& completed);
  // Notes reasoning, and puts ReasoningCompleted before the first event that is not reasoning.
  void follow_reasoning(Poll& polled);
  // While the adapter's stream gives events; what else it gives is handled by `settle`.
  Poll poll_source(const Waker& waker);
  // Turns the end, an error or the completed message into what the consumer sees.
  void settle(Poll& polled, const Waker& waker);
  // Everything before and between streams.
  Poll advance(const Waker& waker);
  // Handles the failure of an attempt before anything was delivered: the error, if it stands.
  std::optional<Error> retry_or_fail(Error error);
  // The same for a run that can end while the call is made.
  Poll poll_until_ended(const Waker& waker);
  // Whether the run's time is over; if not, `waker` is called when it is.
  bool is_overtime(const Waker& waker);
  // Whether `level` is strict enough to end the call.
  bool is_cancelled(CancelSignal::Level level) const;
  // End the call because of that.
  Poll time_out();
  Poll cancel();
  Poll end(RunEnd why, const Error& error);
  // The adapter broke the protocol.
  Error malformed(std::string problem) const;
  // What the adapter throws becomes the failure of the call.
  Result<std::unique_ptr<EventSource>> open_source() const;
  Poll poll_guarded(const Waker& waker);
  Error thrown(const char* what) const;  // while the exception is handled: it is the cause of the error

  std::shared_ptr<const Run> run_;
  const AdapterCall& call_;
  const SpanId parent_;
  Span generate_;
  Span stream_;
  std::unique_ptr<EventSource> source_;
  std::optional<Alarm> backoff_;
  std::optional<Alarm> overtime_;  // if the run has a limit
  std::optional<Error> failure_;   // waits to be delivered
  std::optional<RunEnd> ended_;
  int attempt_ = 0;
  std::string reasoning_;            // of the message so far
  std::size_t reasoning_begin_ = 0;  // of the part that is not completed
  std::optional<Event> held_;        // follows the ReasoningCompleted that was put before it
  bool delivered_ = false;
  bool completed_ = false;  // the message is
  bool done_ = false;
};

}  // namespace allm
