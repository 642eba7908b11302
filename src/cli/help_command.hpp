// `allm help`: explains a command.
#pragma once

#include "cli/command/spec.hpp"

namespace allm::cli {

CommandSpec help_spec();

}  // namespace allm::cli
