#include "stores/sqlite/log.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "stores/sqlite/clock.hpp"
#include "stores/sqlite/errors.hpp"
#include "stores/sqlite/sessions.hpp"

namespace allm::sqlite {
namespace {

constexpr std::string_view kRead =
    "SELECT number, kind, at, body FROM session_log WHERE session = ?1 AND number > ?2 "
    "AND (?4 = '' OR kind = ?4 OR (?4 = 'facts' AND kind <> 'event')) ORDER BY number LIMIT ?3";

Result<std::int64_t> last_number(Connection& connection, std::int64_t key) {
  Statement query = connection.run("SELECT coalesce(max(number), 0) FROM session_log WHERE session = ?", key);
  const Result<bool> row = query.step();
  if (!row) return std::unexpected(row.error());
  return query.integer(0);
}

}  // namespace

Result<std::int64_t> append_log(Connection& connection, std::int64_t key, const std::vector<LogEntry>& entries,
                                const std::vector<std::string>& bodies) {
  Result<std::int64_t> number = last_number(connection, key);
  const std::int64_t now = now_ms();
  for (std::size_t i = 0; number && i < entries.size(); ++i) {
    ++*number;
    if (Status done = connection.execute("INSERT INTO session_log VALUES (?, ?, ?, ?, ?)", key, *number,
                                         entries[i].kind, now, bodies[i]);
        !done) {
      return std::unexpected(done.error());
    }
  }
  return number;
}

Result<std::vector<LogEntry>> read_log(Connection& connection, const std::string& id, std::int64_t after,
                                       std::size_t limit, std::string_view kind) {
  const Result<SessionRow> session = find_session(connection, id);
  if (!session) return std::unexpected(session.error());
  const auto most =
      static_cast<std::int64_t>(std::min(limit, static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max())));
  Statement query = connection.run(kRead, session->key, after, most, kind);
  std::vector<LogEntry> entries;
  while (true) {
    const Result<bool> row = query.step();
    if (!row) return std::unexpected(row.error());
    if (!*row) return entries;
    Result<Json> body = parse_json(query.view(3));
    if (!body) {
      return std::unexpected(corrupted_session(connection.path(), id,
                                               "entry " + query.text(0) + " of its log: " + body.error().message()));
    }
    entries.push_back({.number = query.integer(0),
                       .kind = query.text(1),
                       .body = *std::move(body),
                       .at = store_time(query.integer(2))});
  }
}

Result<bool> log_is_longer(Connection& connection, const std::string& id, std::int64_t after) {
  const Result<SessionRow> session = find_session(connection, id);
  if (!session) return std::unexpected(session.error());
  const Result<std::int64_t> last = last_number(connection, session->key);
  if (!last) return std::unexpected(last.error());
  return *last > after;
}

}  // namespace allm::sqlite
