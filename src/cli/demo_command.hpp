// `allm demo`: a complete agent run with a scripted model; needs no key.
#pragma once

#include "cli/command/spec.hpp"
#include "cli/terminal.hpp"

namespace allm::cli {

// Shows a run on `out`: streamed text, two tools in parallel, a question to the user (answered from
// the script) and the answer. Without `fast` it takes about three seconds, as a real one might.
// Returns the exit code. Blocks.
int demo_command(bool fast, const Terminal& out);

CommandSpec demo_spec();

}  // namespace allm::cli
