// `allm demo`: a whole agent run to look at, with a scripted model and no key.
#pragma once

#include "cli/terminal.hpp"

namespace allm::cli {

// Shows a run on `out`: streamed text, two tools in parallel, a question to the user (answered from
// the script) and the answer. Without `fast` it takes about three seconds, as a real one might.
// Returns the exit code. Blocks.
int demo_command(bool fast, const Terminal& out);

}  // namespace allm::cli
