// Help texts of commands.
#pragma once

#include <string>

#include "cli/command/spec.hpp"

namespace allm::cli {

// The help text of the last command of `path`. Headings are bold if `out` has colours. Lines have at most 100 columns,
// and fewer if `out` is a narrower terminal, except words and commands that cannot be broken.
std::string help_text(const CommandPath& path, const Terminal& out);

}  // namespace allm::cli
