// What tools can do wrong, in one place for all lanes.
#pragma once

#include <string>
#include <vector>

#include "allm/tool.hpp"

namespace allm::testing {

// All kinds, "returns" first.
const std::vector<std::string>& misbehaviours();

// Misbehaves in the calling process; most kinds do not return.
ToolOutcome misbehave(const std::string& kind);

// The tools of the tests' workers: one for each kind, with its name, and those in test_tools.cpp.
std::vector<Tool> worker_tools();

// Adds a tool of one test file to worker_tools(). Make it a variable at namespace scope, so that the workers have the
// tool as well as the test.
class AddedWorkerTool {
 public:
  AddedWorkerTool(std::string name, Handler handler);
  // The tool, in the worker lane.
  const Tool& tool() const { return tool_; }

 private:
  Tool tool_;
};

// A tool of that kind in the worker lane, and as a command.
Tool worker_tool(const std::string& kind);
Tool command_tool(const std::string& kind);

}  // namespace allm::testing
