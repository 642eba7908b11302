// Running a handler that may throw anything.
#pragma once

#include "allm/handler.hpp"

#include "data/tool_errors.hpp"

namespace allm {

// Calls `run`; an exception becomes ToolError `handler_raised`, as the answer.
template <class Run>
void run_guarded(const ToolCall& call, const ToolCompletion& done, Run run) noexcept {
  try {
    run();
  } catch (...) {
    done(ToolFailure{handler_raised_error(call)});
  }
}

}  // namespace allm
