// Turns the result codes of SQLite into StoreErrors that say what failed, in which file, and what to do.
#pragma once

#include <string>

#include "allm/error.hpp"

namespace allm::sqlite {

struct Failure {
  int code = 0;             // an extended result code of SQLite
  int system_errno = 0;     // of the system call that failed, or 0
  std::string detail = {};  // SQLite's own words
};

Error file_error(const std::string& path, const Failure& failure);
// The path cannot be the name of a store; `why` continues the sentence "the session store PATH …".
Error unusable_path(const std::string& path, const std::string& why);
// One session cannot be read; the others can.
Error corrupted_session(const std::string& path, const std::string& id, const std::string& why);

}  // namespace allm::sqlite
