// The journal of one run of a stored session.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "allm/collector.hpp"
#include "allm/session_ops.hpp"
#include "allm/work_queue.hpp"

#include "engine/run_journal.hpp"
#include "stores/journal/facts.hpp"
#include "stores/journal/journal_queue.hpp"

namespace allm {

// Names of members of Session::metadata. The first is there while a run is open; the second has the idempotency keys of
// pending calls that were interrupted, by the id of the call.
inline constexpr const char* kOpenRun = "allm.run";
inline constexpr const char* kInterruptedCalls = "allm.interrupted";

// Only for the consumer's thread, except may_start() and wait_to_start().
class SessionJournal : public RunJournal {
 public:
  struct Settings {
    std::string session_id = {};
    std::int64_t version = 0;  // of the session while it runs
    RecordedRun recorded = {};
    Json interrupted = null_json();  // kInterruptedCalls of the session before the run
    bool log_events = false;
    // The run is ended with what is recorded: calls without an outcome are not run, and the next model call fails.
    std::optional<Job> given_up = std::nullopt;
  };
  // `queue` is shared with the thread that commits.
  SessionJournal(std::shared_ptr<JournalQueue> queue, Settings settings);

  // Folds the events of the run into its session. To be set before the first event.
  void set_reducer(SessionReducer reducer) { reducer_ = std::move(reducer); }
  // The session and the result of the run. Only after its end.
  const Result<SessionTurn>& turn() const { return *turn_; }
  bool has_ended() const { return turn_.has_value(); }

  Position last() const override { return queue_->last(); }
  bool is_committed(Position position) override { return queue_->is_committed(position); }
  void flush() override { queue_->flush(); }
  void watch(const Waker& waker) override { queue_->watch(waker); }
  std::optional<Error> failure() const override { return queue_->failure(); }
  bool may_start() override { return queue_->may_start(); }
  bool wait_to_start() override { return queue_->wait_to_start(); }
  std::optional<std::vector<Event>> next_response() override;
  void note_model_event(const Event& event) override;
  std::optional<std::vector<Approval>> recorded_decisions() const override;
  void record_decisions(std::span<const Approval> decisions) override;
  std::optional<RecordedAnswer> recorded_answer(const ToolCall& call) const override;
  bool was_interrupted(const ToolCall& call) const override;
  std::string idempotency_key(const ToolCall& call) const override;
  Position record_dispatched(const ToolCall& call) override;
  ToolOutcome record_answer(const ToolCall& call, RecordedAnswer answer) override;
  void note_event(const Event& event) override;
  void note_end() override;

 private:
  RecordedRun::CallKey key_of(const ToolCall& call) const { return {step_, call.id}; }
  void log(const Event& event);
  void log_text();
  void end_run(Json end);
  void keep_interrupted_calls(Session& session) const;

  std::shared_ptr<JournalQueue> queue_;
  Settings settings_;
  int step_ = 0;
  StreamCollector message_;                // of the model call
  std::optional<SessionReducer> reducer_;  // until the end
  std::optional<Result<SessionTurn>> turn_;
  std::string text_;  // deltas that are not in the log yet
};

}  // namespace allm
