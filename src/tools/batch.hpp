// A batch of tool calls: dispatched in order, a few at a time, and told of as they finish.
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

// What the model is told of a failure, whatever the run's encoder does.
std::string failure_content(const Run& run, const ToolFailure& failure);

// Gives the events of the calls. Dropping it asks running handlers to stop and waits for none.
// One thread at a time.
class ToolBatchSource : public EventSource {
 public:
  // `decisions` are one for each call, or none, which allows all; suspended calls are not run.
  // `outside` makes the calls that run in other processes; it must outlive the source.
  // `span`: what the calls are a part of, if it is not the run's own parent.
  ToolBatchSource(std::shared_ptr<const Run> run, std::vector<ToolCall> calls, const OutsideCalls& outside,
                  std::vector<Approval> decisions, SpanId span = {});
  ~ToolBatchSource() override;

  Poll poll(const Waker& waker) override;

  // After the end: one tool message per call, in the order of the calls.
  std::vector<Message> take_messages();
  // The end that the call of the lowest index asked for, if one did.
  const std::optional<StepEnd>& halt() const { return halt_; }

 private:
  struct Slot {
    std::shared_ptr<PendingCall> pending;  // while it is with the pool
    std::unique_ptr<PolledCall> polled;    // if it is polled here instead
    Waker waker;                           // of `polled`
    Message message;
  };
  bool is_rewritten(std::size_t index) const { return !decisions_.empty() && decisions_[index].arguments(); }
  void start(std::size_t index);
  // Polls the calls that are polled here and have something to do.
  void poll_driven();
  // Before `waker`'s consumer waits.
  void await(const Waker& waker);
  // Why the call is answered without being looked at: the decision on it, or the end of the run.
  std::optional<ToolFailure> refused(std::size_t index) const;
  // Has calls that run stopped, if the run is cancelled and none of their results are wanted.
  void heed_cancellation();
  // What can be said without running the handler; nothing if it has to run with `arguments`.
  std::optional<ToolOutcome> answer_at_once(const ToolCall& call, const Tool*& tool, Json& arguments) const;
  void finish(std::size_t index, ToolOutcome outcome);
  void finish_failure(std::size_t index, const ToolFailure& failure);
  void succeed(std::size_t index, ToolOutcome outcome, Content content);
  void fail(std::size_t index, const ToolFailure& failure, bool halts, std::optional<Error> policy_error = {});
  // Answers a call that the run did not want, or not any more; no failure that a policy decides on.
  void refuse(std::size_t index, const ToolFailure& failure);
  void answer(std::size_t index, Content content);
  void note_halt(std::size_t index, StepEnd end);
  Result<std::string> encode(std::size_t index, const Json& value) const;
  Result<Content> encode(std::size_t index, const ToolOk& outcome) const;

  std::shared_ptr<const Run> run_;
  const OutsideCalls& outside_;
  std::vector<ToolCall> calls_;  // with the arguments of the decisions, where they give some
  std::vector<Approval> decisions_;
  SpanId span_;
  bool abandoned_ = false;  // what ran when the run was cancelled
  std::vector<Slot> slots_;
  std::shared_ptr<BatchInbox> inbox_;
  std::vector<Event> ready_;  // from ready_at_ on: to be given out
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
