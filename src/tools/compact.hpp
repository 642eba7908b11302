// Compact tools: declared to the model in one line each, with the full text on request.
//
// Pure functions; safe to call from any thread. The short forms depend on the tools and the choice alone, so that the
// prefix which a provider caches is the same in every step.
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

// The name that a program's own tool cannot have beside a compact one.
inline constexpr std::string_view kToolHelpName = "tool_help";

// What the model is sent: no handlers, compact tools in short form and no longer marked as compact, `tool_help` after
// them if there are any. A compact tool that the choice forces is sent in full: the model could not ask about it.
std::vector<Tool> project_tools(const std::vector<Tool>& tools, const std::optional<ToolChoice>& choice);

bool has_compact_tools(const std::vector<Tool>& tools);

// Whether the runner answers the call itself: `tool_help` beside compact tools, unless the program has a tool of that
// name.
bool calls_tool_help(const ToolCall& call, const ToolSet& tools);

// The declaration of `tool_help`, and whether a tool is that one. A program's own tool of that name is not.
Tool tool_help_tool();
bool is_tool_help(const Tool& tool);

// What to tell the model when a compact tool is called without a required argument, most likely because its schema was
// never asked for: the missing names and the tool's full help. Nothing if all are there or the tool is not compact.
std::optional<std::string> missing_compact_arguments(const Tool& tool, const Json& arguments);

}  // namespace allm
