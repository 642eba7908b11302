// The part of a step before its model call, where the option prepare_step is set.
#pragma once

#include <memory>
#include <optional>

#include "allm/prepare_step.hpp"

#include "engine/run.hpp"
#include "runtime/alarm.hpp"

namespace allm {

// Asks the hook and waits for its plan. One thread at a time; the hook's exceptions pass through.
class StepPreparation {
 public:
  // Calls the hook, unless the run is over. `span` is that of the step.
  StepPreparation(std::shared_ptr<const Run> run, const Thread& thread, const ChatResult* so_far, SpanId span);

  // The plan, or why there is none; nothing while it is pending. A run that is over gives an empty plan: the model call
  // that follows finds why, and ends the step.
  std::optional<Result<StepPlan>> poll(const Waker& waker);

 private:
  bool is_over() const;

  std::shared_ptr<const Run> run_;
  std::optional<PlannedStep> planned_;
  std::optional<Alarm> overtime_;
};

// Whether the plan changes more than the messages.
bool changes_settings(const StepPlan& plan);
// The run as the plan wants it for one step. Limits and cancellation are shared with `run`.
std::shared_ptr<const Run> planned_run(const Run& run, StepPlan plan);
// Whether calls and results belong together in `view` as they do in `stored`.
Status check_view(const MessageList& stored, const MessageList& view);

}  // namespace allm
