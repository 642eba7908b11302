// One model call: reserves its worst case in the run's budgets, opens the adapter's stream, retries it as long as no
// event was delivered, and checks that it keeps to the protocol of events.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "allm/adapter.hpp"

#include "engine/budget_hold.hpp"
#include "engine/call_watch.hpp"
#include "engine/run.hpp"
#include "engine/span.hpp"
#include "engine/worst_case.hpp"
#include "runtime/alarm.hpp"

namespace allm {

// Produces the model's events. A call that fails produces an ErrorEvent and ends. `call` must outlive it; its `warn` is
// set until then, and its `max_tokens` may be smaller. One thread at a time.
class ModelCall : public EventSource {
 public:
  // `parent`: the parent of the call's span, if that is not the run's own parent.
  ModelCall(std::shared_ptr<const Run> run, AdapterCall& call, SpanId parent = {});
  ModelCall(const ModelCall&) = delete;
  ModelCall& operator=(const ModelCall&) = delete;
  ~ModelCall() override;
  Poll poll(const Waker& waker) override;

  // Reports the response to telemetry. To be called after the end of a complete message.
  void report_result(const Response& response) { generate_.stop({.response = &response}); }
  // Why the run ended the call, if it did. The call's last event is then an ErrorEvent with the same reason.
  const std::optional<RunEnd>& ended() const { return ended_; }

 private:
  void open();
  // Reports a warning of the adapter, once for all attempts.
  void warn(const AdapterWarning& warning);
  // Adds costs, the run's id and the reasoning.
  void add_facts(MessageCompleted& completed);
  // Collects reasoning, and inserts ReasoningCompleted before the first event that is not reasoning.
  void follow_reasoning(Poll& polled);
  // Polls the adapter's stream and passes its events on; everything else goes to handle_end.
  Poll poll_source(const Waker& waker);
  // Whether the event is one about a tool call that exceeds the limits of an answer.
  bool exceeds_limits(const Event& event);
  // Handles a poll that is the end, an error, the completed message or an event that no model may send.
  void handle_end(Poll& polled, const Waker& waker);
  // Runs while no stream is open: waits for the backoff, opens the stream, delivers the error.
  Poll advance(const Waker& waker);
  // Whether the call must wait until the results that it sends are committed. Asks for a recorded response.
  bool waits_for_journal();
  // Handles an attempt that failed before any event was delivered: prepares a retry, or returns the error to deliver.
  std::optional<Error> retry_or_fail(Error error);
  // poll() for a run that a deadline or a cancellation can end during the call.
  Poll poll_until_ended(const Waker& waker);
  // Whether the run's deadline has passed; if not, `waker` is called when it has.
  bool is_overtime(const Waker& waker);
  // Whether a cancellation of this level ends the call.
  bool is_cancelled(CancelSignal::Level level) const;
  // Reserves the worst case of the next attempt. Returns nullopt when it is reserved or nothing has to be.
  std::optional<Poll> poll_reservation(const Waker& waker);
  void begin_reservation();
  // Lowers max_tokens so that the call fits, if the options allow it. False: it does not fit.
  bool shrink(const BudgetRefusal& refusal);
  // The settlement of the attempt that ended: whether it is done.
  bool poll_settled(const Waker& waker);
  Poll refuse(const BudgetRefusal& refusal);
  // End the call, with the reason that the name says.
  Poll time_out();
  Poll cancel();
  Poll end(RunEnd why, const Error& error);
  // The error of an adapter that broke the protocol of events.
  Error malformed(std::string message) const;
  // Call the adapter; an exception becomes an error.
  Result<std::unique_ptr<EventSource>> open_source() const;
  Poll poll_guarded(const Waker& waker);
  Error thrown(const char* what) const;  // only inside a catch block: the exception becomes the error's cause

  std::shared_ptr<const Run> run_;
  AdapterCall& call_;
  const SpanId parent_;
  Span generate_;
  Span stream_;
  std::unique_ptr<EventSource> source_;
  bool has_asked_journal_ = false;
  std::optional<std::vector<Event>> recorded_;  // of the journal: they replace the model's
  std::optional<Alarm> backoff_;
  std::optional<Alarm> overtime_;  // if the run has a limit
  std::optional<Error> error_;     // to be delivered
  std::optional<RunEnd> ended_;
  std::optional<BudgetHold> hold_;                // of the current attempt
  WorstCase worst_;                               // of the current attempt
  const std::optional<std::int64_t> max_tokens_;  // that of the request before it was lowered
  int attempt_ = 0;
  std::vector<std::string> warned_;  // settings that were reported
  CallWatch watch_;
  std::string reasoning_;            // of the message so far
  std::size_t reasoning_begin_ = 0;  // where the part without a ReasoningCompleted begins
  std::optional<Event> held_;        // delivered after the ReasoningCompleted that was inserted before it
  bool delivered_ = false;
  bool completed_ = false;  // MessageCompleted was delivered
  bool done_ = false;
};

}  // namespace allm
