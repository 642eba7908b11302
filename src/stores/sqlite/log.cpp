#include "stores/sqlite/log.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "stores/sqlite/clock.hpp"
#include "stores/sqlite/errors.hpp"
#include "stores/sqlite/sessions.hpp"

namespace allm::sqlite {
namespace {

// The entries of a session have the keys (session << 32) + number.
constexpr int kNumberBits = 32;
constexpr std::int64_t kMaxNumber = (std::int64_t{1} << kNumberBits) - 1;

std::int64_t entry_key(std::int64_t session, std::int64_t number) { return (session << kNumberBits) + number; }

constexpr std::string_view kRead =
    "SELECT number, kind, at, body FROM session_log WHERE entry > ?1 AND entry <= ?2 "
    "AND (?4 = '' OR kind = ?4 OR (?4 = 'facts' AND kind <> 'event')) ORDER BY entry LIMIT ?3";

Result<std::int64_t> last_number(Connection& connection, std::int64_t session) {
  Statement query =
      connection.run("SELECT number FROM session_log WHERE entry BETWEEN ? AND ? ORDER BY entry DESC LIMIT 1",
                     entry_key(session, 0), entry_key(session, kMaxNumber));
  const Result<bool> row = query.step();
  if (!row) return std::unexpected(row.error());
  return *row ? query.integer(0) : 0;
}

Error log_is_full(const std::string& path) {
  return Error(StoreError{.reason = StoreError::Reason::full},
               "session store " + path + ": the log of a session has 4294967295 entries and cannot grow");
}

}  // namespace

Result<std::int64_t> append_log(Connection& connection, std::int64_t key, const std::vector<LogEntry>& entries,
                                const std::vector<std::string>& bodies) {
  Result<std::int64_t> number = last_number(connection, key);
  const std::int64_t now = now_ms();
  for (std::size_t i = 0; number && i < entries.size(); ++i) {
    if (*number == kMaxNumber) return std::unexpected(log_is_full(connection.path()));
    ++*number;
    if (Status done = connection.execute("INSERT INTO session_log (entry, kind, at, body) VALUES (?, ?, ?, ?)",
                                         entry_key(key, *number), entries[i].kind, now, bodies[i]);
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
  const std::int64_t first = entry_key(session->key, std::clamp<std::int64_t>(after, 0, kMaxNumber));
  Statement query = connection.run(kRead, first, entry_key(session->key, kMaxNumber), most, kind);
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
