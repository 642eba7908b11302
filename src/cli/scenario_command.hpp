// `allm scenario`: checks scenario files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "allm/lane.hpp"

#include "cli/terminal.hpp"

namespace allm::cli {

struct ScenarioArguments {
  std::vector<std::filesystem::path> paths;  // files, and directories that are searched for *.json
  bool observe = false;                      // print what was observed instead of checking it
  bool quiet = false;                        // print the last line only
  Lane lane = Lane::thread;                  // of the tools
  std::size_t jobs = 4;                      // files at once; many scenarios do little but wait
};

// Returns the exit code: 0 if every scenario passed (with `observe`: ran), 1 if one did not, 2 if
// there was none. Results go to `out`, in the order of the files; what keeps a file from being
// checked goes to `errors` when observing, otherwise it is one of the failures. Blocks.
int scenario_command(const ScenarioArguments& arguments, const Terminal& out, const Terminal& errors);

}  // namespace allm::cli
