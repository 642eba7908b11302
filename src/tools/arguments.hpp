// Arguments: from what the model sent to what a handler may see.
#pragma once

#include <string>

#include "allm/tool.hpp"

#include "engine/tool_set.hpp"

namespace allm {

// The arguments of a call: its value, or what its text says where the value is empty. Fails with
// ToolError `invalid_arguments` if that is no JSON object; no text at all counts as {}.
Result<Json> call_arguments(const ToolCall& call);

// Fails with ToolError `invalid_arguments` if the arguments break the tool's schema; the message
// names the path and the rule of every problem, for the model to mend.
Status check_arguments(const ToolSet& tools, const Tool& tool, const ToolCall& call, const Json& arguments);

}  // namespace allm
