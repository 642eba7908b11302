// Runs the option prepare_step before the model call of a step.
#pragma once

#include <memory>
#include <optional>

#include "allm/prepare_step.hpp"

#include "engine/run.hpp"
#include "runtime/alarm.hpp"

namespace allm {

// Calls the hook and waits for its plan. One thread at a time. Exceptions of the hook pass through.
class StepPreparation {
 public:
  // Calls the hook, unless the run has ended. `span` is the span of the step.
  StepPreparation(std::shared_ptr<const Run> run, const Thread& thread, const ChatResult* so_far, SpanId span);

  // The plan or an error; nullopt while the plan is pending. For a run that has ended, the plan is empty: the model
  // call that follows ends the step with the reason.
  std::optional<Result<StepPlan>> poll(const Waker& waker);

 private:
  bool is_over() const;

  std::shared_ptr<const Run> run_;
  std::optional<PlannedStep> planned_;
  std::optional<Alarm> overtime_;
};

// Whether the plan changes more than the messages.
bool changes_settings(const StepPlan& plan);
// The run with the plan's settings, for one step. Limits and cancellation are shared with `run`.
std::shared_ptr<const Run> planned_run(const Run& run, StepPlan plan);
// Fails if `view` separates calls from their results that are together in `stored`.
Status check_view(const MessageList& stored, const MessageList& view);

}  // namespace allm
