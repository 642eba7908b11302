#include "stores/sqlite/commit.hpp"

#include <utility>

#include "allm/serialize.hpp"

#include "stores/sqlite/leases.hpp"
#include "stores/sqlite/log.hpp"
#include "stores/sqlite/queue.hpp"
#include "stores/sqlite/sessions.hpp"
#include "stores/store_errors.hpp"

namespace allm::sqlite {
namespace {

Status check_version(const Commit& change, const SessionRow& session) {
  if (!change.expected_version || *change.expected_version == session.version) return {};
  return std::unexpected(version_conflict(change.session_id, *change.expected_version, session.version));
}

// The end of the job and of the lease.
Status finish_work(Connection& connection, const Commit& change, const SessionRow& session) {
  if (change.finished_job) {
    if (Status done = finish_job(connection, session.key, *change.finished_job); !done) return done;
  }
  if (change.failed_attempt) {
    if (Status done = fail_attempt(connection, session.key, *change.failed_attempt); !done) return done;
  }
  if (!change.release) return {};
  if (Status done = release_attempt(connection, session.key, session.fence); !done) return done;
  return connection.execute("UPDATE sessions SET lease_until = NULL WHERE key = ?", session.key);
}

}  // namespace

Result<PreparedCommit> prepare_commit(const Commit& change) {
  PreparedCommit prepared = {.change = &change};
  for (const LogEntry& entry : change.entries) {
    Result<std::string> body = write_json(entry.body);
    if (!body) return std::unexpected(body.error());
    prepared.bodies.push_back(*std::move(body));
  }
  if (!change.session) return prepared;
  prepared.session = *change.session;
  prepared.session.id = change.session_id;
  Result<std::string> state = to_json(prepared.session);
  if (!state) return std::unexpected(state.error());
  prepared.state = *std::move(state);
  return prepared;
}

Result<Committed> apply_commit(Connection& connection, const PreparedCommit& prepared) {
  const Commit& change = *prepared.change;
  const Result<SessionRow> session = find_session(connection, change.session_id);
  if (!session) return std::unexpected(session.error());
  if (Status allowed = check_fence(change.session_id, *session, change.fence); !allowed) {
    return std::unexpected(allowed.error());
  }
  if (Status same = check_version(change, *session); !same) return std::unexpected(same.error());
  const Result<std::int64_t> number = append_log(connection, session->key, change.entries, prepared.bodies);
  if (!number) return std::unexpected(number.error());
  Committed committed = {.version = session->version, .last_number = *number};
  if (change.session) {
    const Result<std::int64_t> version = replace_session(connection, *session, prepared.session, prepared.state);
    if (!version) return std::unexpected(version.error());
    committed.version = *version;
  }
  if (Status done = finish_work(connection, change, *session); !done) return std::unexpected(done.error());
  return committed;
}

}  // namespace allm::sqlite
