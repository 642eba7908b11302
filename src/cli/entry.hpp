// The entry point of the library allm-command.so, which src/cli/main.cpp loads.
#pragma once

namespace allm::cli {

inline constexpr const char* kCommandLibrary = "allm-command.so";
inline constexpr const char* kCommandEntry = "allm_command_main";

}  // namespace allm::cli

// Runs a command line and returns the exit code. In a process that was started as a worker it does not return. Call it
// once, before other threads are started. Blocks.
extern "C" int allm_command_main(int argc, char** argv);
