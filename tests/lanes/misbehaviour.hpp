// What tools can do wrong, in one place for all lanes.
#pragma once

#include <string>
#include <vector>

#include "allm/tool.hpp"

namespace allm::testing {

// All kinds, "returns" first.
const std::vector<std::string>& misbehaviours();

// Does it, in the process that calls it; most do not return.
ToolOutcome misbehave(const std::string& kind);

// The tools that workers know: one for each kind, by its name, and those of the tests.
std::vector<Tool> worker_tools();

// A tool of that kind in the worker lane, and as a command.
Tool worker_tool(const std::string& kind);
Tool command_tool(const std::string& kind);

}  // namespace allm::testing
