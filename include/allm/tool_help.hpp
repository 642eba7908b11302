// Answers to `tool_help`, the tool that tells a model about compact tools.
#pragma once

#include <string>
#include <vector>

#include "allm/tool.hpp"

namespace allm {

// What a call of `tool_help` with these arguments is answered: the full description and schema of
// each tool that is asked for. The loop does this by itself; a program needs it in manual mode only,
// where calls of `tool_help` come to it like all others. Never fails: what is wrong with the
// arguments the text says. Safe to call from any thread.
std::string answer_tool_help(const std::vector<Tool>& tools, const Json& arguments);

}  // namespace allm
