// Finds and reads the files of a command. Safe to call from any thread.
#pragma once

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "allm/json.hpp"

namespace allm::cli {

// The files to check, in the order of the arguments and sorted below each of them. A path that cannot be read stays in
// the list, so that it is reported.
std::vector<std::filesystem::path> find_json_files(const std::vector<std::filesystem::path>& paths);

// Fails with ValidationError `invalid_scenario` for a file that cannot be read, and as parse_json does.
Result<Json> read_json_file(const std::filesystem::path& path);

// Everything up to the end of `file`. Blocks.
std::string read_input(std::FILE* file);

}  // namespace allm::cli
