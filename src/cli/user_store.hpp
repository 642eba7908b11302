// The store that `allm sessions` and `allm worker` use. Reads the environment; call it before other threads change it.
#pragma once

#include <memory>
#include <string>

#include "allm/work_queue.hpp"

namespace allm::cli {

// `url`, else that in ALLM_STORE, else an SQLite file of the user: $XDG_DATA_HOME/allm/sessions.db, or
// ~/.local/share/allm/sessions.db if XDG_DATA_HOME is not set. The folder of that file is created. Fails as open_store
// does. Blocks.
Result<std::shared_ptr<Store>> open_user_store(const std::string& url);

}  // namespace allm::cli
