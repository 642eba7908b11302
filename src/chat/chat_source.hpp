// The agent loop: steps until there is an answer, a question or a reason to stop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "allm/stream.hpp"

#include "chat/approve_source.hpp"
#include "chat/prepared_call.hpp"
#include "chat/step_source.hpp"
#include "engine/run.hpp"

namespace allm {

// Produces the events of every step and, unless the first step fails and no approved call ran before it, ChatCompleted.
// A run that reaches a limit or is cancelled has not failed, even in its first step. One thread at a time.
class ChatSource : public EventSource {
 public:
  // `approval`, if given, is polled before the first step, which then continues its thread instead of `thread`.
  ChatSource(std::shared_ptr<const Run> run, Thread thread, std::unique_ptr<ApproveSource> approval = nullptr);
  Poll poll(const Waker& waker) override;

  // The error, if there is no result. Only after the end.
  const std::optional<Error>& failure() const { return failure_; }

 private:
  Poll poll_approval(const Waker& waker);
  // Handles the end of the approval; returns whether a step follows.
  bool approval_done();
  Poll poll_step(const Waker& waker);
  Poll finish_run();
  void begin_step(Thread thread, std::size_t checked_messages);
  // Handles the end of a step; returns whether the run continues.
  bool step_done();
  // Why the run ends after the step: the reason of highest precedence, or nullopt if the run continues.
  std::optional<RunEnd> end_after(const StepResult& step) const;

  std::shared_ptr<const Run> run_;
  PreparedCall call_;
  std::unique_ptr<ApproveSource> approval_;  // until its end
  bool has_run_calls_ = false;               // whether approved calls ran before the first step
  std::optional<StepSource> step_;
  std::shared_ptr<ChatResult> result_;  // null after ChatCompleted
  std::optional<Error> failure_;
};

// The source of a whole run, with a second pass for a structured answer and with telemetry if its settings say so.
// `run` does not change after the first poll.
std::unique_ptr<EventSource> chat_source(std::shared_ptr<Run> run, Thread thread,
                                         std::unique_ptr<ApproveSource> approval = nullptr);

}  // namespace allm
