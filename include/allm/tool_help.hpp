// Answers to `tool_help`, the tool through which a model gets the full form of compact tools.
#pragma once

#include <string>
#include <vector>

#include "allm/tool.hpp"

namespace allm {

// Returns the answer to a call of `tool_help`: the full description and schema of each requested tool. The loop answers
// such calls itself; a program needs this function in manual mode only, where it gets calls of `tool_help` like all
// others. Never fails: the returned text says what is wrong with the arguments. Safe to call from any thread.
std::string answer_tool_help(const std::vector<Tool>& tools, const Json& arguments);

}  // namespace allm
