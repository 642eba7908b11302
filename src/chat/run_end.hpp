// How a run ends after a step. Pure functions; safe to call from any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "allm/result.hpp"

namespace allm {

// Whether the step called tools, so that the model is called again.
bool runs_more(const StepResult& step);

// The end of the run that follows from the step's own end; nullopt if the run may continue. `index` is that of the
// step.
std::optional<RunEnd> end_after_step(const StepResult& step, std::int64_t index);

// Ends the run of `result`, whose steps are complete. The question of a tool becomes the last message of the thread.
void end_run(ChatResult& result, RunEnd end);

}  // namespace allm
