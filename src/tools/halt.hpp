// The end of a step that a tool call halts.
#pragma once

#include <string_view>

#include "allm/event.hpp"

namespace allm {

// The content of a tool message until the user answers the question.
inline constexpr std::string_view kAwaitingUser = "<awaiting user response>";

StepEnd step_end(const AskUserRequested& question);
StepEnd step_end(const ToolHalt& halt);

}  // namespace allm
