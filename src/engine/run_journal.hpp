// The journal of a run: what happens is recorded before anyone is told, so that the run can be resumed after a crash.
//
// A run with a journal asks it first: a model call whose response is recorded calls no model, a tool call whose outcome
// is recorded runs nothing. Everything else is recorded while it happens. src/stores implements the interface; the run
// of a program without a store has no journal.
//
// Steps are counted: the calls that are approved before the first model call belong to step 0, those of the n-th model
// call to step n. Within a step a tool call is known by its id.
//
// All functions are called on the consumer's thread and never block, except those about the right to start. Facts are
// committed elsewhere, in the order in which they were recorded.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "allm/approval.hpp"
#include "allm/stream.hpp"

namespace allm {

class RunJournal {
 public:
  // The place of a fact in the journal. 0 comes before all facts.
  using Position = std::int64_t;

  RunJournal() = default;
  RunJournal(const RunJournal&) = delete;
  RunJournal& operator=(const RunJournal&) = delete;
  virtual ~RunJournal() = default;

  // --- Commits ---
  // The position of the last fact that was recorded.
  virtual Position last() const = 0;
  // Whether that fact and all before it are committed. If not, the waker of watch() is called when more are.
  virtual bool is_committed(Position position) = 0;
  // Has the facts so far committed soon. Without it, facts wait for others, so that one commit has many of them.
  virtual void flush() = 0;
  // `waker` is called after each commit and after a failure.
  virtual void watch(const Waker& waker) = 0;
  // Why nothing can be recorded any more; nullopt while it can. The run must end at once.
  virtual std::optional<Error> failure() const = 0;

  // --- The right to start something ---
  // Whether nobody else can have the session now, so that a tool or a model call may be started. It is asked directly
  // before the start, because time may pass between a commit and what follows it: the process may be stopped. If not,
  // the waker of watch() is called when it may, or after a failure. Safe to call from any thread.
  virtual bool may_start() = 0;
  // Waits until something may be started; false if the run is over. Blocks; not for the consumer's thread.
  virtual bool wait_to_start() = 0;

  // --- Model calls ---
  // Begins the next step. Returns the events of its recorded response, or nullopt if the model must be called.
  virtual std::optional<std::vector<Event>> next_response() = 0;
  // Called with each event of a model that was called; MessageCompleted records the response.
  virtual void note_model_event(const Event& event) = 0;

  // --- The approval gate ---
  // The decisions of the gate on the calls of the step, if they are recorded.
  virtual std::optional<std::vector<Approval>> recorded_decisions() const = 0;
  virtual void record_decisions(std::span<const Approval> decisions) = 0;

  // --- Tool calls of the step ---
  enum class Answered : std::uint8_t {
    by_handler,  // something was run
    at_once,     // nothing had to be run
    as_refused,  // nothing was allowed to run
    over_limit,  // the run had made as many calls as it may
  };
  struct RecordedAnswer {
    ToolOutcome outcome;
    Answered how = Answered::by_handler;
  };
  virtual std::optional<RecordedAnswer> recorded_answer(const ToolCall& call) const = 0;
  // Whether an earlier process has started the call and did not record its outcome.
  virtual bool was_interrupted(const ToolCall& call) const = 0;
  // The same text whenever this call is run again.
  virtual std::string idempotency_key(const ToolCall& call) const = 0;
  // To be called before the call is run; it may run when this fact is committed.
  virtual Position record_dispatched(const ToolCall& call) = 0;
  // Returns the outcome to use: an error if `outcome` cannot be recorded.
  virtual ToolOutcome record_answer(const ToolCall& call, RecordedAnswer answer) = 0;

  // --- The run ---
  // Called with each event of the run and at its end, before the consumer gets them.
  virtual void note_event(const Event& event) = 0;
  virtual void note_end() = 0;
};

}  // namespace allm
