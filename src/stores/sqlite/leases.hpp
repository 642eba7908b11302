// Leases of sessions in an SQLite file. All functions are called in a transaction. Times are those of this machine's
// clock, so the processes that share a file see the same time.
#pragma once

#include <chrono>
#include <cstdint>

#include "allm/store.hpp"

#include "stores/sqlite/connection.hpp"
#include "stores/sqlite/sessions.hpp"

namespace allm::sqlite {

// Gives out a lease of a session that nobody has leased.
Result<Lease> grant_lease(Connection& connection, const std::string& id, const SessionRow& session,
                          std::chrono::milliseconds duration);

Result<Lease> acquire_lease(Connection& connection, const std::string& id, std::chrono::milliseconds duration);
Result<Lease> renew_lease(Connection& connection, const Lease& lease, std::chrono::milliseconds duration);
Status release_lease(Connection& connection, const Lease& lease);

// Whether the holder of `fence`, or a caller without one, may change the session now. Fails with `fenced` or `leased`.
Status check_fence(const std::string& id, const SessionRow& session, std::optional<std::int64_t> fence);

}  // namespace allm::sqlite
