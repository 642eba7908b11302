// What the command knows about models: what allm knows, and what the user says. Reads the environment and a file, and
// blocks while it does; to be called before other threads change the environment.
#pragma once

#include <memory>

#include "allm/model.hpp"

namespace allm::cli {

// The built-in catalogue, overridden by the user's model file: the one that ALLM_MODELS names, else
// $XDG_CONFIG_HOME/allm/models.json, else ~/.config/allm/models.json. Only the first of them has to be there.
// Fails as read_catalogue does; the message names the file.
Result<std::shared_ptr<const Catalogue>> user_catalogue();

}  // namespace allm::cli
