#include "allm/typed_tool.hpp"

namespace allm::detail {

ToolOutcome argument_failure(const Error& error, const ToolCall& call) {
  return ToolFailure{
      Error(ToolError{.reason = ToolError::Reason::invalid_arguments, .tool_name = call.name, .tool_call_id = call.id},
            "invalid arguments for tool '" + call.name + "': " + error.message(), error.metadata())};
}

}  // namespace allm::detail
