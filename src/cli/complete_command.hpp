// `allm complete`: the values that completion scripts cannot know.
#pragma once

#include "cli/command/spec.hpp"

namespace allm::cli {

// Prints one candidate in each line, and nothing else: a shell runs this while a person presses Tab, so errors have no
// messages. Does not create a store. Blocks.
CommandSpec complete_spec();

}  // namespace allm::cli
