// Man pages of commands, in the format of man(7).
#pragma once

#include <string>
#include <vector>

#include "cli/command/spec.hpp"

namespace allm::cli {

struct ManPage {
  std::string name = {};  // "allm-sessions"; its file is allm-sessions.1
  std::string text = {};
};

// A page for `root` and one for each of its commands that is not hidden. The commands of a command are sections of its
// page.
std::vector<ManPage> man_pages(const CommandSpec& root, const std::string& version);

}  // namespace allm::cli
