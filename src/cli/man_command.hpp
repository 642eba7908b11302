// `allm man`: writes the man pages. The build runs it.
#pragma once

#include "cli/command/spec.hpp"

namespace allm::cli {

CommandSpec man_spec();

}  // namespace allm::cli
