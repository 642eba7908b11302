// Running a handler that may throw anything.
#pragma once

#include <exception>
#include <string>

#include "allm/tool.hpp"

namespace allm {

// Calls `run`; an exception becomes ToolError `handler_raised`, as the answer.
template <class Run>
void run_guarded(const ToolCall& call, const ToolCompletion& done, Run run) noexcept {
  const auto raised = [&](const std::string& what) {
    done(ToolFailure{
        Error(ToolError{.reason = ToolError::Reason::handler_raised, .tool_name = call.name, .tool_call_id = call.id},
              "the handler of tool '" + call.name + "' threw" + what)});
  };
  try {
    run();
  } catch (const std::exception& exception) {
    raised(std::string(": ") + exception.what());
  } catch (...) {
    raised(" something that is no std::exception");
  }
}

}  // namespace allm
