// `allm completion`: prints the completion script of a shell.
#pragma once

#include "cli/command/spec.hpp"

namespace allm::cli {

CommandSpec completion_spec();

}  // namespace allm::cli
