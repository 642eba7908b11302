// The entry point of the command.
#pragma once

namespace allm::cli {

// Runs a command line and returns the exit code. In a process that was started as a worker it does not return. Call it
// once, before other threads are started. Blocks.
int run_allm(int argc, char** argv);

}  // namespace allm::cli
