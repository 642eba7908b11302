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

// Gives the events of every step and, unless the first step fails and nothing was done before it, ChatCompleted. A run
// that reaches a limit or is cancelled has not failed, also in its first step.
class ChatSource : public EventSource {
 public:
  // `approval`, if given, is polled before the first step, which goes on from its thread instead of `thread`.
  ChatSource(std::shared_ptr<const Run> run, Thread thread, std::unique_ptr<ApproveSource> approval = nullptr);
  Poll poll(const Waker& waker) override;

  // After the end: why there is no result, if there is none.
  const std::optional<Error>& failure() const { return failure_; }

 private:
  Poll poll_approval(const Waker& waker);
  // Whether a step follows.
  bool approval_done();
  Poll poll_step(const Waker& waker);
  Poll finish_run();
  void begin_step(Thread thread, std::size_t checked_messages);
  // Whether the run goes on after the step.
  bool step_done();
  // Why the run ends after the step, if it does; reasons in their order of precedence.
  std::optional<RunEnd> end_after(const StepResult& step) const;
  void finish(RunEnd end);

  std::shared_ptr<const Run> run_;
  PreparedCall call_;
  std::unique_ptr<ApproveSource> approval_;  // until its end
  bool has_run_calls_ = false;               // whether the run did something before its first step
  std::optional<StepSource> step_;
  std::shared_ptr<ChatResult> result_;  // null once it was handed out
  std::optional<Error> failure_;
};

// The events of a whole run, as its settings want it: with a second pass for a structured answer, with telemetry.
// `run` is not changed any more once the events are polled.
std::unique_ptr<EventSource> chat_source(std::shared_ptr<Run> run, Thread thread,
                                         std::unique_ptr<ApproveSource> approval = nullptr);

}  // namespace allm
