// `allm scenario`: checks scenario files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "allm/lane.hpp"

#include "cli/command/spec.hpp"
#include "cli/terminal.hpp"

namespace allm::cli {

struct ScenarioArguments {
  std::vector<std::filesystem::path> paths;  // files, and directories that are searched for *.json
  bool observe = false;                      // print what was observed instead of checking it
  bool quiet = false;                        // print the last line only
  Lane lane = Lane::thread;                  // of the tools
  std::size_t jobs = 4;                      // files at once; many scenarios do little but wait
};

// Returns the exit code: 0 if every scenario passed (with `observe`: ran), 1 if one did not, 2 if no scenario was
// found. Results are written to `out` in the order of the files. A file that cannot be checked counts as failed; with
// `observe` it is reported on `errors`. Blocks.
int scenario_command(const ScenarioArguments& arguments, const Terminal& out, const Terminal& errors);

CommandSpec scenario_spec();

}  // namespace allm::cli
