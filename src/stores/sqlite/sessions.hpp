// Sessions in an SQLite file: create, load, replace, remove. The functions that change something are called in a
// transaction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "allm/store.hpp"

#include "stores/sqlite/connection.hpp"

namespace allm::sqlite {

// What a change has to know of a session.
struct SessionRow {
  std::int64_t key = 0;
  std::int64_t version = 0;
  std::int64_t fence = 0;
  std::optional<std::int64_t> lease_until = std::nullopt;  // milliseconds since 1970; nullopt: there is no lease
  std::string tenant = {};

  bool is_leased(std::int64_t now) const { return lease_until && *lease_until > now; }
};

// Fails with `not_found`.
Result<SessionRow> find_session(Connection& connection, const std::string& id);

// `state` is the session as JSON.
Result<StoredSession> create_session(Connection& connection, NewSession session, const std::string& state);
Result<StoredSession> load_session(Connection& connection, const std::string& id);
// Returns the new version.
Result<std::int64_t> replace_session(Connection& connection, const SessionRow& row, const Session& session,
                                     const std::string& state);
Status remove_session(Connection& connection, const std::string& id);

}  // namespace allm::sqlite
