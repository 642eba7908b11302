#include "allm/executor.hpp"

#include <utility>

namespace allm {

void DefaultToolExecutor::execute(const Tool& tool, const Json& arguments, const ToolContext& context,
                                  ToolCompletion done) {
  if (!tool.handler) {
    done(ToolFailure{Error(
        ToolError{
            .reason = ToolError::Reason::not_found, .tool_name = tool.name, .tool_call_id = context.tool_call().id},
        "tool '" + tool.name + "' has no handler")});
    return;
  }
  tool.handler(arguments, context, std::move(done));
}

}  // namespace allm
