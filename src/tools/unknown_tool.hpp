// Calls to tools that do not exist.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "allm/tool.hpp"

#include "engine/tool_set.hpp"

namespace allm {

// The error message: the name that was called, and the names of the tools.
std::string unknown_tool_message(const std::string& name, const ToolSet& tools);

// EngineError `unknown_tool` for the first call that does not name a tool of the set; nullopt if all do.
std::optional<Error> find_unknown_tool(std::span<const ToolCall> calls, const ToolSet& tools);

}  // namespace allm
