// Completion scripts for shells. They offer commands, options, choices, files, and what `allm complete` prints.
#pragma once

#include <string>

#include "cli/command/spec.hpp"

namespace allm::cli {

// Each is a script that completes the command `root.name`. No text of the user is executed by them.
std::string bash_completion(const CommandSpec& root);
std::string zsh_completion(const CommandSpec& root);
std::string fish_completion(const CommandSpec& root);

}  // namespace allm::cli
