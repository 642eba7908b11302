// A batch of tool calls: starts them in order, several at a time, and reports them as they finish.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "allm/event.hpp"
#include "allm/stream.hpp"

#include "engine/run.hpp"
#include "tools/call.hpp"

namespace allm {

// The content of a failed call's tool message, even if the run's encoder fails.
std::string failure_content(const Run& run, const ToolFailure& failure);

// Produces the events of the calls. The destructor asks running handlers to stop and waits for none. One thread at a
// time.
class ToolBatchSource : public EventSource {
 public:
  // `decisions` has one element for each call, or is empty, which allows all; suspended calls are not run.
  // `outside` makes the calls that run in other processes; it must outlive the source.
  // `span`: the parent of the calls' spans, if that is not the run's own parent.
  ToolBatchSource(std::shared_ptr<const Run> run, std::vector<ToolCall> calls, const OutsideCalls& outside,
                  std::vector<Approval> decisions, SpanId span = {});
  ~ToolBatchSource() override;

  Poll poll(const Waker& waker) override;

  // One tool message per call, in the order of the calls. Only after the end.
  std::vector<Message> take_messages();
  // The end that a call asked for, if one did; of several calls, the one with the lowest index.
  const std::optional<StepEnd>& halt() const { return halt_; }

 private:
  struct Slot {
    std::shared_ptr<PendingCall> pending;  // while the call is running
    std::unique_ptr<PolledCall> polled;    // for a call that the batch polls
    Waker waker;                           // of `polled`
    Message message;
  };
  bool is_rewritten(std::size_t index) const { return !decisions_.empty() && decisions_[index].arguments(); }
  // A call that runs as soon as the journal has committed that it will.
  struct Waiting {
    std::size_t index;
    const Tool* tool;
    Json arguments;
    RunJournal::Position position;
  };
  void start(std::size_t index);
  void run_call(std::size_t index, const Tool& tool, Json arguments);
  void run_committed();
  // Answers the call as it was answered before the run was resumed, or as an interrupted call; false if it is to run.
  bool replay(std::size_t index);
  // Records the answer, if the run has a journal, and returns the outcome to use.
  ToolOutcome recorded(std::size_t index, ToolOutcome outcome, RunJournal::Answered how) const;
  // Polls the calls that asked for it.
  void poll_driven();
  // Called before the consumer waits.
  void await(const Waker& waker);
  // The answer of a call that must not run: the decision on it, or the end of the run.
  std::optional<ToolFailure> refused(std::size_t index) const;
  // Stops the running calls if the run is cancelled so that their results are not needed.
  void stop_if_cancelled();
  // The outcome that is known without running the handler; nullopt if it must run with `arguments`.
  std::optional<ToolOutcome> answer_at_once(const ToolCall& call, const Tool*& tool, Json& arguments) const;
  void finish(std::size_t index, ToolOutcome outcome);
  void finish_failure(std::size_t index, const ToolFailure& failure);
  void succeed(std::size_t index, ToolOutcome outcome, Content content);
  void fail(std::size_t index, const ToolFailure& failure, bool halts, std::optional<Error> policy_error = {});
  // Answers a call that was denied or came after the end of the run; on_tool_error is not asked.
  void refuse(std::size_t index, const ToolFailure& failure,
              RunJournal::Answered how = RunJournal::Answered::as_refused);
  void show_refusal(std::size_t index, const ToolFailure& failure);
  void answer(std::size_t index, Message message);
  void note_halt(std::size_t index, StepEnd end);
  Result<std::string> encode(std::size_t index, const Json& value) const;
  Result<Content> encode(std::size_t index, const ToolOk& outcome) const;

  std::shared_ptr<const Run> run_;
  const OutsideCalls& outside_;
  std::vector<ToolCall> calls_;  // with the arguments of the decisions, where they give some
  std::vector<Approval> decisions_;
  SpanId span_;
  bool abandoned_ = false;  // running calls were stopped by a cancellation
  std::vector<Slot> slots_;
  std::vector<Waiting> waiting_;      // they count as running
  std::vector<std::size_t> started_;  // the calls that run, and some that have ended since the last wait
  std::shared_ptr<BatchInbox> inbox_;
  std::vector<Event> ready_;  // from ready_at_ on: to be delivered
  std::size_t ready_at_ = 0;
  std::vector<std::size_t> settled_;
  std::vector<BatchInbox::Progress> progress_;
  std::size_t limit_ = 1;
  std::size_t next_ = 0;
  std::size_t running_ = 0;
  std::optional<StepEnd> halt_;
  std::size_t halt_index_ = 0;
};

}  // namespace allm
