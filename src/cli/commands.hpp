// The commands of `allm`.
#pragma once

#include "cli/command/spec.hpp"

namespace allm::cli {

// `allm` with all its commands. Starts nothing and reads nothing.
CommandSpec all_commands();

}  // namespace allm::cli
