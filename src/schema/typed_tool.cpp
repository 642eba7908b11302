#include "allm/typed_tool.hpp"

#include "data/tool_errors.hpp"

namespace allm::detail {

ToolOutcome argument_failure(const Error& error, const ToolCall& call) {
  return ToolFailure{invalid_arguments_error(call, error.message(), error.metadata())};
}

}  // namespace allm::detail
