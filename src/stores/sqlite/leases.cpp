#include "stores/sqlite/leases.hpp"

#include "stores/sqlite/clock.hpp"
#include "stores/sqlite/queue.hpp"
#include "stores/store_errors.hpp"

namespace allm::sqlite {
namespace {

// Fences of all sessions come from one counter, so that they also grow when a session is removed and created again.
Result<std::int64_t> next_fence(Connection& connection) {
  Statement query = connection.run("UPDATE numbers SET value = value + 1 WHERE name = 'fence' RETURNING value");
  const Result<bool> row = query.step();
  if (!row) return std::unexpected(row.error());
  const std::int64_t fence = query.integer(0);
  if (Status done = query.finish(); !done) return std::unexpected(done.error());
  return fence;
}

}  // namespace

Result<Lease> grant_lease(Connection& connection, const std::string& id, const SessionRow& session,
                          std::chrono::milliseconds duration) {
  const Result<std::int64_t> fence = next_fence(connection);
  if (!fence) return std::unexpected(fence.error());
  const std::int64_t until = later(now_ms(), duration);
  if (Status done = connection.execute("UPDATE sessions SET fence = ?, lease_until = ? WHERE key = ?", *fence, until,
                                       session.key);
      !done) {
    return std::unexpected(done.error());
  }
  return Lease{.session_id = id, .fence = *fence, .expires_at = store_time(until)};
}

Result<Lease> acquire_lease(Connection& connection, const std::string& id, std::chrono::milliseconds duration) {
  const Result<SessionRow> session = find_session(connection, id);
  if (!session) return std::unexpected(session.error());
  if (session->is_leased(now_ms())) return std::unexpected(session_leased(id));
  return grant_lease(connection, id, *session, duration);
}

Result<Lease> renew_lease(Connection& connection, const Lease& lease, std::chrono::milliseconds duration) {
  const Result<SessionRow> session = find_session(connection, lease.session_id);
  if (!session) return std::unexpected(session.error());
  if (session->fence != lease.fence || !session->lease_until) return std::unexpected(lease_fenced(lease.session_id));
  if (!session->is_leased(now_ms())) {
    if (Status resumed = resume_attempt(connection, session->key, lease.fence); !resumed) {
      return std::unexpected(resumed.error());
    }
  }
  const std::int64_t until = later(now_ms(), duration);
  if (Status done = connection.execute("UPDATE sessions SET lease_until = ? WHERE key = ?", until, session->key);
      !done) {
    return std::unexpected(done.error());
  }
  return Lease{.session_id = lease.session_id, .fence = lease.fence, .expires_at = store_time(until)};
}

Status release_lease(Connection& connection, const Lease& lease) {
  const Result<SessionRow> session = find_session(connection, lease.session_id);
  if (!session)
    return session.error().is<StoreError>(StoreError::Reason::not_found) ? Status() : std::unexpected(session.error());
  if (Status released = release_attempt(connection, session->key, lease.fence); !released) return released;
  return connection.execute("UPDATE sessions SET lease_until = NULL WHERE key = ? AND fence = ?", session->key,
                            lease.fence);
}

Status check_fence(const std::string& id, const SessionRow& session, std::optional<std::int64_t> fence) {
  const bool held = session.is_leased(now_ms());
  if (!fence && held) return std::unexpected(session_leased(id));
  if (fence && (!held || *fence != session.fence)) return std::unexpected(lease_fenced(id));
  return {};
}

}  // namespace allm::sqlite
