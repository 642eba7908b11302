// Parses command lines.
#pragma once

#include "cli/command/spec.hpp"

namespace allm::cli {

// Parses the command line, stores the values of the options and runs the command. Returns its exit code; 0 after help
// and version, which are written to `streams.out`; kUsageError after an error, which is written to `streams.errors`
// with the nearest valid name. Call it once for a `root`. Blocks as the command does.
int run_command_line(const CommandSpec& root, const std::string& version, int argc, char** argv,
                     const CommandStreams& streams);

}  // namespace allm::cli
