#include "stores/sqlite/sessions.hpp"

#include <string_view>
#include <utility>

#include "allm/serialize.hpp"

#include "stores/session_text.hpp"
#include "stores/sqlite/clock.hpp"
#include "stores/sqlite/errors.hpp"
#include "stores/sqlite/search.hpp"
#include "stores/store_errors.hpp"

namespace allm::sqlite {
namespace {

// The number of the newest change plus 1; lists are in the order of these numbers.
constexpr std::string_view kInsert =
    "INSERT INTO sessions (id, tenant, status, title, messages, version, changed, created_at, updated_at) "
    "VALUES (?1, ?2, ?3, ?4, ?5, 1, (SELECT coalesce(max(changed), 0) + 1 FROM sessions), ?6, ?6) "
    "ON CONFLICT (id) DO NOTHING";
constexpr std::string_view kUpdate =
    "UPDATE sessions SET status = ?2, title = ?3, messages = ?4, version = version + 1, updated_at = ?5, "
    "changed = (SELECT coalesce(max(changed), 0) + 1 FROM sessions) WHERE key = ?1";
constexpr std::string_view kLoad =
    "SELECT s.version, s.tenant, s.created_at, s.updated_at, t.state FROM sessions s "
    "LEFT JOIN session_states t ON t.session = s.key WHERE s.id = ?";

Status write_state(Connection& connection, std::int64_t key, const Session& session, const std::string& state) {
  if (Status done = connection.execute(
          "INSERT INTO session_states VALUES (?, ?) ON CONFLICT (session) DO UPDATE SET state = excluded.state", key,
          state);
      !done) {
    return done;
  }
  const std::string text = searchable_text(session);
  return index_text(connection, key, text);
}

}  // namespace

Result<SessionRow> find_session(Connection& connection, const std::string& id) {
  Statement query = connection.run("SELECT key, version, fence, lease_until, tenant FROM sessions WHERE id = ?", id);
  const Result<bool> row = query.step();
  if (!row) return std::unexpected(row.error());
  if (!*row) return std::unexpected(no_such_session(id));
  SessionRow found = {.key = query.integer(0), .version = query.integer(1), .fence = query.integer(2)};
  if (!query.is_null(3)) found.lease_until = query.integer(3);
  found.tenant = query.text(4);
  return found;
}

Result<StoredSession> create_session(Connection& connection, NewSession created, const std::string& state) {
  const std::string& id = *created.session.id;
  const std::int64_t now = now_ms();
  const std::string title = title_of(created.session);
  if (Status done = connection.execute(kInsert, id, created.tenant, to_string(created.session.status), title,
                                       static_cast<std::int64_t>(created.session.thread.messages.size()), now);
      !done) {
    return std::unexpected(done.error());
  }
  if (connection.changes() == 0) {
    return std::unexpected(session_exists(id));
  }
  if (Status done = write_state(connection, connection.last_row_id(), created.session, state); !done) {
    return std::unexpected(done.error());
  }
  return StoredSession{.session = std::move(created.session),
                       .version = 1,
                       .tenant = std::move(created.tenant),
                       .created_at = store_time(now),
                       .updated_at = store_time(now)};
}

Result<StoredSession> load_session(Connection& connection, const std::string& id) {
  Statement query = connection.run(kLoad, id);
  const Result<bool> row = query.step();
  if (!row) return std::unexpected(row.error());
  if (!*row) return std::unexpected(no_such_session(id));
  Result<Session> session = from_json<Session>(query.view(4));
  if (!session) return std::unexpected(corrupted_session(connection.path(), id, session.error().message()));
  session->id = id;
  return StoredSession{.session = *std::move(session),
                       .version = query.integer(0),
                       .tenant = query.text(1),
                       .created_at = store_time(query.integer(2)),
                       .updated_at = store_time(query.integer(3))};
}

Result<std::int64_t> replace_session(Connection& connection, const SessionRow& row, const Session& session,
                                     const std::string& state) {
  const std::string title = title_of(session);
  if (Status done = connection.execute(kUpdate, row.key, to_string(session.status), title,
                                       static_cast<std::int64_t>(session.thread.messages.size()), now_ms());
      !done) {
    return std::unexpected(done.error());
  }
  if (Status done = write_state(connection, row.key, session, state); !done) return std::unexpected(done.error());
  return row.version + 1;
}

Status remove_session(Connection& connection, const std::string& id) {
  const Result<SessionRow> row = find_session(connection, id);
  if (!row) return std::unexpected(row.error());
  if (row->is_leased(now_ms())) {
    return std::unexpected(session_leased(id));
  }
  if (Status done = remove_from_index(connection, row->key); !done) return done;
  return connection.execute("DELETE FROM sessions WHERE key = ?", row->key);
}

}  // namespace allm::sqlite
