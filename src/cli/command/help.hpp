// Help texts of commands.
#pragma once

#include <string>
#include <vector>

#include "cli/command/spec.hpp"

namespace allm::cli {

// The help text of the last command of `path`, which begins with the root; headings are bold if `out` has colours. Lines
// have at most 100 columns.
std::string help_text(const std::vector<const CommandSpec*>& path, const Terminal& out);

// "allm sessions show".
std::string path_text(const std::vector<const CommandSpec*>& path);

// "allm sessions show [OPTIONS] ID".
std::string usage_text(const std::vector<const CommandSpec*>& path);

}  // namespace allm::cli
