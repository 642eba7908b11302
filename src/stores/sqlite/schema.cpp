#include "stores/sqlite/schema.hpp"

#include <array>
#include <thread>

#include <fmt/format.h>

#include "allm/json.hpp"

#include "stores/sqlite/errors.hpp"

namespace allm::sqlite {
namespace {

// The states are in a table of their own, so that the pages of lists and leases stay small. Rows of the log that belong
// together are neighbours, and a new one changes one page.
constexpr const char* kVersion1 = R"(
CREATE TABLE sessions (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  tenant TEXT NOT NULL,
  status TEXT NOT NULL,
  title TEXT NOT NULL,
  messages INTEGER NOT NULL,
  version INTEGER NOT NULL,
  changed INTEGER NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  fence INTEGER NOT NULL DEFAULT 0,
  lease_until INTEGER,
  indexed_parts INTEGER NOT NULL DEFAULT 0,
  indexed_bytes INTEGER NOT NULL DEFAULT 0,
  indexed_hash INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX sessions_by_tenant ON sessions (tenant, changed);
CREATE TABLE session_states (
  session INTEGER PRIMARY KEY REFERENCES sessions (key) ON DELETE CASCADE,
  state TEXT NOT NULL
) STRICT;
CREATE TABLE session_log (
  session INTEGER NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  kind TEXT NOT NULL,
  at INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (session, number)
) STRICT, WITHOUT ROWID;
CREATE VIRTUAL TABLE session_search USING fts5 (text);
CREATE TABLE jobs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session INTEGER NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
  tenant TEXT NOT NULL,
  priority INTEGER NOT NULL,
  not_before INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  fence INTEGER,
  job_order TEXT NOT NULL
) STRICT;
CREATE INDEX jobs_by_session ON jobs (session, id);
CREATE INDEX jobs_by_tenant ON jobs (tenant, priority DESC, id);
CREATE INDEX jobs_claimed ON jobs (tenant) WHERE fence IS NOT NULL;
CREATE TABLE tenants (
  name TEXT PRIMARY KEY,
  served INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE numbers (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO numbers VALUES ('fence', 0);
)";

// Failed attempts at jobs, turns of tenants, budgets, and another table for the log.
//
// An index b-tree, as that of version 1, puts a row of more than 1,000 bytes into pages of its own; a commit of one
// entry wrote three pages. A table b-tree keeps rows of up to 4,000 bytes together, and the commit writes one page.
constexpr const char* kVersion2 = R"(
ALTER TABLE jobs ADD COLUMN max_attempts INTEGER NOT NULL DEFAULT 5;
ALTER TABLE jobs ADD COLUMN retry_ms INTEGER NOT NULL DEFAULT 1000;
ALTER TABLE jobs ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN lost_fence INTEGER;
ALTER TABLE jobs ADD COLUMN last_error TEXT NOT NULL DEFAULT '';
ALTER TABLE tenants ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;
-- Version 1 kept the fence of jobs whose lease was released, which does not count as a failed attempt.
UPDATE jobs SET fence = NULL WHERE NOT EXISTS
  (SELECT 1 FROM sessions s WHERE s.key = jobs.session AND s.fence = jobs.fence AND s.lease_until IS NOT NULL);
CREATE TABLE budgets (
  key INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  strict INTEGER NOT NULL,
  token_limit INTEGER,
  nano_limit INTEGER,
  tokens_spent INTEGER NOT NULL DEFAULT 0,
  nanos_spent INTEGER NOT NULL DEFAULT 0,
  tokens_reserved INTEGER NOT NULL DEFAULT 0,
  nanos_reserved INTEGER NOT NULL DEFAULT 0,
  reservations INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL
) STRICT;
CREATE TABLE budget_reservations (
  id INTEGER PRIMARY KEY,
  budget INTEGER NOT NULL REFERENCES budgets (key) ON DELETE CASCADE,
  tokens INTEGER NOT NULL,
  nanos INTEGER NOT NULL,
  holder TEXT NOT NULL,
  at INTEGER NOT NULL,
  forgotten INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX budget_reservations_by_time ON budget_reservations (budget, at, id);
ALTER TABLE session_log RENAME TO session_log_of_version_1;
CREATE TABLE session_log (
  entry INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  at INTEGER NOT NULL,
  body TEXT NOT NULL,
  session INTEGER NOT NULL GENERATED ALWAYS AS (entry >> 32) VIRTUAL,
  number INTEGER NOT NULL GENERATED ALWAYS AS (entry & 4294967295) VIRTUAL
) STRICT;
INSERT INTO session_log (entry, kind, at, body)
  SELECT (session << 32) + number, kind, at, body FROM session_log_of_version_1 ORDER BY session, number;
DROP TABLE session_log_of_version_1;
CREATE TRIGGER session_log_of_removed AFTER DELETE ON sessions BEGIN
  DELETE FROM session_log WHERE entry BETWEEN (old.key << 32) AND (old.key << 32) + 4294967295;
END;
)";

constexpr std::array kMigrations = {kVersion1, kVersion2};

Error future_version(const std::string& path, std::int64_t found, std::size_t known) {
  return Error(StoreError{.reason = StoreError::Reason::future_version},
               fmt::format("session store {}: a newer version of allm wrote it (schema {}; this version knows schemas "
                           "up to {}); use that version of allm. Nothing was changed",
                           path, found, known),
               Json{{"path", path}, {"schema", found}});
}

// The version of the file, 0 if it is empty.
Result<std::int64_t> version_of(Connection& connection) {
  const Result<std::int64_t> application = connection.integer("PRAGMA application_id");
  if (!application) return application;
  if (*application == kApplicationId) return connection.integer("PRAGMA user_version");
  const Result<std::int64_t> tables = connection.integer("SELECT count(*) FROM sqlite_schema");
  if (!tables) return tables;
  if (*application == 0 && *tables == 0) return 0;
  return std::unexpected(
      unusable_path(connection.path(), "is an SQLite database of another program; choose another file"));
}

// True if the file has the newest version.
Result<bool> is_current(Connection& connection, std::size_t newest) {
  const Result<std::int64_t> version = version_of(connection);
  if (!version) return std::unexpected(version.error());
  if (*version < 0 || *version > static_cast<std::int64_t>(newest)) {
    return std::unexpected(future_version(connection.path(), *version, newest));
  }
  return *version == static_cast<std::int64_t>(newest);
}

// SQLite does not call the busy handler for this change in all cases.
Status use_write_ahead_log(Connection& connection, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (true) {
    const Status set = connection.execute("PRAGMA journal_mode = WAL");
    if (set || std::chrono::steady_clock::now() >= deadline) return set;
    if (!set.error().is<StoreError>(StoreError::Reason::unavailable)) return set;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

Status run_migrations(Connection& connection, std::span<const Migration> steps) {
  Transaction transaction(connection);
  if (Status begun = transaction.begin(); !begun) return begun;
  // Another process may have done it meanwhile.
  const Result<bool> current = is_current(connection, steps.size());
  if (!current) return std::unexpected(current.error());
  if (*current) return {};
  const Result<std::int64_t> version = version_of(connection);
  if (!version) return std::unexpected(version.error());
  for (const Migration step : steps.subspan(static_cast<std::size_t>(*version))) {
    if (Status done = connection.execute_script(step); !done) return done;
  }
  const std::string marks =
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};", kApplicationId, steps.size());
  if (Status marked = connection.execute_script(marks); !marked) return marked;
  return transaction.commit();
}

}  // namespace

std::span<const Migration> migrations() { return kMigrations; }

Status migrate(Connection& connection, std::span<const Migration> steps) {
  const Result<bool> current = is_current(connection, steps.size());
  if (!current) return std::unexpected(current.error());
  if (Status set = use_write_ahead_log(connection, connection.busy_timeout()); !set) return set;
  if (*current) return {};
  return run_migrations(connection, steps);
}

}  // namespace allm::sqlite
