// `allm sandbox`: shows which sandbox features this kernel supports.
#pragma once

#include "cli/command/spec.hpp"
#include "cli/terminal.hpp"

namespace allm::cli {

// Returns the exit code: 0 if everything can be enforced, 1 if something cannot.
int sandbox_command(const Terminal& out);

CommandSpec sandbox_spec();

}  // namespace allm::cli
