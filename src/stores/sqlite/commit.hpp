// Changes of one session in an SQLite file.
#pragma once

#include <string>
#include <vector>

#include "allm/store.hpp"

#include "stores/sqlite/connection.hpp"

namespace allm::sqlite {

// A change with its values as JSON, which is written before the file is locked.
struct PreparedCommit {
  const Commit* change = nullptr;
  Session session = {};  // the new state, if there is one
  std::string state = {};
  std::vector<std::string> bodies = {};  // of the entries
};

// Fails with ValidationError if a value cannot be written as JSON. Refers to `change`.
Result<PreparedCommit> prepare_commit(const Commit& change);

// Called in a transaction.
Result<Committed> apply_commit(Connection& connection, const PreparedCommit& prepared);

}  // namespace allm::sqlite
