// Compact tools: each is declared to the model in one line; the model gets the full declaration on request.
//
// Pure functions; safe to call from any thread. The short forms depend only on the tools and the tool choice, so that
// the prompt prefix that a provider caches is the same in every step.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allm/request.hpp"
#include "allm/tool.hpp"
#include "allm/tool_help.hpp"

#include "engine/tool_set.hpp"

namespace allm {

// The name of the built-in tool. With compact tools, a program's own tool must not have this name.
inline constexpr std::string_view kToolHelpName = "tool_help";

// The tools to send to the model: without handlers; compact tools in short form and no longer marked as compact; after
// them `tool_help`, if any tool is compact. A compact tool that the tool choice forces is sent in full, because the
// model cannot ask about it.
std::vector<Tool> project_tools(const std::vector<Tool>& tools, const std::optional<ToolChoice>& choice);

bool has_compact_tools(const std::vector<Tool>& tools);

// Whether the runner answers the call itself: `tool_help` beside compact tools, unless the program has a tool of that
// name.
bool calls_tool_help(const ToolCall& call, const ToolSet& tools);

// The declaration of `tool_help`, and whether a tool is that one. A program's own tool of that name is not.
Tool tool_help_tool();
bool is_tool_help(const Tool& tool);

// The answer to a call of a compact tool without a required argument, which happens if the model did not ask for the
// schema: the missing names and the tool's full help. nullopt if no argument is missing or the tool is not compact.
std::optional<std::string> missing_compact_arguments(const Tool& tool, const Json& arguments);

}  // namespace allm
