// `allm transcript`: checks transcripts of exchanges with providers.
#pragma once

#include <filesystem>
#include <vector>

#include "cli/command/spec.hpp"
#include "cli/terminal.hpp"

namespace allm::cli {

struct TranscriptArguments {
  std::vector<std::filesystem::path> paths;  // files, and directories that are searched for *.json
  bool quiet = false;                        // print the last line only
};

// Returns the exit code: 0 if every transcript passed, 1 if one did not, 2 if there was none.
int transcript_command(const TranscriptArguments& arguments, const Terminal& out, const Terminal& errors);

CommandSpec transcript_spec();

}  // namespace allm::cli
