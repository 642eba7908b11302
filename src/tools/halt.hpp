// What a halting call makes of its step.
#pragma once

#include <string_view>

#include "allm/event.hpp"

namespace allm {

// The content of a tool message that stands for an answer the user has yet to give.
inline constexpr std::string_view kAwaitingUser = "<awaiting user response>";

StepEnd step_end(const AskUserRequested& question);
StepEnd step_end(const ToolHalt& halt);

}  // namespace allm
