// The session store in an SQLite file.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "allm/work_queue.hpp"

namespace allm {

struct SqliteOptions {
  std::string path = {};
  // How long a change waits for the changes of other processes; then it fails with `unavailable`. Each takes
  // milliseconds, so only a program that hangs in a transaction takes longer.
  std::chrono::milliseconds busy_timeout = std::chrono::seconds(10);
  std::string vfs = {};  // the name of a file system that is registered with SQLite, for tests; default: the system's
};

// Creates the file if it does not exist, and migrates an older one. Errors: see open_store. A child process that was
// forked from the one that opened the store must open it again; the functions of its parent's store fail in it.
Result<std::shared_ptr<Store>> open_sqlite_store(const SqliteOptions& options);

}  // namespace allm
