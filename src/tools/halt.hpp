// What a halting call leaves behind, as metadata of step and run.
#pragma once

#include <string_view>

#include "allm/event.hpp"

namespace allm {

// The content of a tool message that stands for an answer the user has yet to give.
inline constexpr std::string_view kAwaitingUser = "<awaiting user response>";

Json halt_metadata(const AskUserRequested& question);
Json halt_metadata(const ToolHalt& halt);

}  // namespace allm
