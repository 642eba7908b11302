// Reads and checks the arguments of tool calls before a handler sees them.
#pragma once

#include <string>

#include "allm/limits.hpp"
#include "allm/tool.hpp"

#include "engine/tool_set.hpp"

namespace allm {

// The arguments of a call: `arguments`, or the parsed `raw_arguments` if they are empty. Fails with ToolError
// `invalid_arguments` if the text is not a JSON object or exceeds a limit; a missing text counts as {}.
Result<Json> call_arguments(const ToolCall& call, const AnswerLimits& limits = {});

// Fails with ToolError `invalid_arguments` if the arguments break the tool's schema; the message names the path and the
// rule of every error, so that the model can correct them.
Status check_arguments(const ToolSet& tools, const Tool& tool, const ToolCall& call, const Json& arguments);

}  // namespace allm
