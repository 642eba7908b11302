// Parses command lines.
#pragma once

#include <string>
#include <vector>

#include "cli/command/spec.hpp"

namespace allm::cli {

// Parses a command line (without the name of the program), stores the values of the options and runs the command.
// Returns its exit code; 0 after help and version, which are written to `context.out`; kUsageError after an error,
// which is written to `context.errors` with the nearest valid name. Nothing is stored after an error of syntax; values
// are stored until the first that is refused. Call it once for a `context.root`. Blocks as the command does.
int run_command_line(const std::vector<std::string>& arguments, const CommandContext& context);

}  // namespace allm::cli
