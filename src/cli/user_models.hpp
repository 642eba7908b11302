// The command's model catalogue: the built-in one, overridden by the user's model file. Reads the environment and a
// file and blocks meanwhile; call it before other threads change the environment.
#pragma once

#include <memory>

#include "allm/model.hpp"

namespace allm::cli {

// The built-in catalogue, overridden by the user's model file: the one that ALLM_MODELS names, else
// $XDG_CONFIG_HOME/allm/models.json, else ~/.config/allm/models.json. It is an error if the file named by ALLM_MODELS
// is missing; the others are optional. Fails as read_catalogue does; the message names the file.
Result<std::shared_ptr<const Catalogue>> user_catalogue();

}  // namespace allm::cli
