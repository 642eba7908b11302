#include "tools/halt.hpp"

namespace allm {

StepEnd step_end(const AskUserRequested& question) {
  return ended::AskUser{.question = question.question,
                        .options = question.options,
                        .tool_call_id = question.tool_call_id,
                        .tool_name = question.tool_name};
}

StepEnd step_end(const ToolHalt& halt) {
  // The runner refuses this reason from a handler.
  if (halt.reason == halted::tool_error) return ended::ToolError{halt.tool_call_id, halt.policy_error};
  return ended::Halted{.reason = halt.reason, .result = halt.result, .tool_call_id = halt.tool_call_id};
}

}  // namespace allm
