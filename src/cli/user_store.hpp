// The store that `allm sessions` and `allm worker` use.
#pragma once

#include <memory>
#include <string>

#include "allm/work_queue.hpp"

#include "cli/command/spec.hpp"

namespace allm::cli {

// `url`, else that in ALLM_STORE, else an SQLite file of the user: $XDG_DATA_HOME/allm/sessions.db, or
// ~/.local/share/allm/sessions.db if XDG_DATA_HOME is not set. The folder of that file is created. Fails as open_store
// does. Reads the environment; call it before other threads change it. Blocks.
Result<std::shared_ptr<Store>> open_user_store(const std::string& url);

// The store that open_user_store("") opens, or nullptr if that is an SQLite file that does not exist. Nothing is
// created.
Result<std::shared_ptr<Store>> open_existing_user_store();

// The option --store.
OptionSpec store_option(std::string& url);

}  // namespace allm::cli
