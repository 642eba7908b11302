// Runs a handler that may throw.
#pragma once

#include "allm/handler.hpp"

#include "data/tool_errors.hpp"

namespace allm {

// Calls `run`; an exception becomes the answer, as ToolError `handler_raised`.
template <class Run>
void run_guarded(const ToolCall& call, const ToolCompletion& done, Run run) noexcept {
  try {
    run();
  } catch (...) {
    done(ToolFailure{handler_raised_error(call)});
  }
}

}  // namespace allm
