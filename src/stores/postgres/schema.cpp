#include "stores/postgres/schema.hpp"

#include "stores/store_errors.hpp"

namespace allm::postgres {
namespace {

// Any number will do, if every process uses the same.
constexpr const char* kLockMigrations = "SELECT pg_advisory_xact_lock(4702394921427289163)";

// to_regclass would be shorter, but may answer from a cache that does not know yet what another process has created.
constexpr const char* kHasVersion =
    "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
    " WHERE n.nspname = 'allm' AND c.relname = 'schema_version')";
constexpr const char* kHasSchema = "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = 'allm')";

// 0: there is no schema yet.
Result<std::int64_t> schema_version(Connection& connection) {
  auto table = connection.run(kHasVersion);
  if (!table) return std::unexpected(table.error().error);
  if (!table->flag(0, 0)) return 0;
  auto version = connection.run("SELECT version FROM allm.schema_version");
  if (!version) return std::unexpected(version.error().error);
  if (version->count() == 1 && version->number(0, 0) >= 1) return version->number(0, 0);
  return std::unexpected(
      store_error(StoreError::Reason::corrupted, "the table allm.schema_version of the PostgreSQL store is damaged"));
}

Status run_all(Connection& connection, const std::vector<std::string>& statements) {
  for (const std::string& statement : statements) {
    if (auto done = connection.run_script(statement); !done) return std::unexpected(done.error().error);
  }
  return {};
}

Status migrate_from(Connection& connection, std::int64_t version) {
  std::vector<std::string> statements;
  for (auto next = static_cast<int>(version) + 1; next <= kSchemaVersion; ++next) {
    statements.emplace_back(migration_to(next));
  }
  statements.push_back("UPDATE allm.schema_version SET version = " + std::to_string(kSchemaVersion));
  return run_all(connection, statements);
}

// CREATE SCHEMA IF NOT EXISTS needs the right to create schemas even if this one exists.
Status create_schema(Connection& connection) {
  auto exists = connection.run(kHasSchema);
  if (!exists) return std::unexpected(exists.error().error);
  return exists->flag(0, 0) ? Status() : run_all(connection, {"CREATE SCHEMA allm"});
}

// Inside a transaction that holds the lock.
Status migrate_locked(Connection& connection) {
  const Result<std::int64_t> version = schema_version(connection);  // another process may have been quicker
  if (!version) return std::unexpected(version.error());
  if (*version >= kSchemaVersion) return {};
  if (*version == 0) {
    if (Status created = create_schema(connection); !created) return created;
  }
  return migrate_from(connection, *version);
}

Status migrate(Connection& connection) {
  if (Status begun = run_all(connection, {"BEGIN", kLockMigrations}); !begun) return begun;
  Status migrated = migrate_locked(connection);
  if (Status ended = run_all(connection, {migrated ? "COMMIT" : "ROLLBACK"}); migrated && !ended) return ended;
  return migrated;
}

}  // namespace

Status prepare_schema(Connection& connection) {
  Result<std::int64_t> version = schema_version(connection);
  if (version && *version < kSchemaVersion) {
    if (Status migrated = migrate(connection); !migrated) return migrated;
    version = schema_version(connection);
  }
  if (!version) return std::unexpected(version.error());
  if (*version == kSchemaVersion) return {};
  return std::unexpected(store_error(StoreError::Reason::future_version,
                                     "the PostgreSQL store has schema version " + std::to_string(*version) +
                                         "; this version of allm knows versions up to " +
                                         std::to_string(kSchemaVersion)));
}

}  // namespace allm::postgres
