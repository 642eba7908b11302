// The file of a store, before SQLite opens it. Blocks. Safe to call from any thread.
#pragma once

#include <string>

#include "allm/error.hpp"

namespace allm::sqlite {

// Returns the absolute path of the file, which exists afterwards. A new file is readable by its owner only; SQLite
// gives the files that it makes beside it the same permissions. Fails with `invalid_url` if the path is empty, a folder
// or in a folder that does not exist, and with `read_only` or `full` if the file cannot be created.
Result<std::string> prepare_file(const std::string& path);

}  // namespace allm::sqlite
