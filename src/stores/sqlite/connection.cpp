#include "stores/sqlite/connection.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include <sqlite3.h>

#include "stores/sqlite/errors.hpp"

namespace allm::sqlite {
namespace {

// The errno of the system call that failed last. SQLite does not report that of a failed COMMIT; the file of the
// write-ahead log has it.
int last_errno(sqlite3* database) {
  int error = sqlite3_system_errno(database);
  sqlite3_file* log = nullptr;
  if (error != 0 ||
      sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, static_cast<void*>(&log)) != 0) {
    return error;
  }
  if (log == nullptr || log->pMethods == nullptr) return 0;
  log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &error);
  return error;
}

}  // namespace

Statement::Statement(Connection& connection, sqlite3_stmt* statement, int error)
    : connection_(connection), statement_(statement), error_(error) {}

Statement::Statement(Statement&& other) noexcept
    : connection_(other.connection_), statement_(std::exchange(other.statement_, nullptr)), error_(other.error_) {}

Statement::~Statement() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

void Statement::bind(int index, std::int64_t value) {
  if (error_ == SQLITE_OK) error_ = sqlite3_bind_int64(statement_, index, value);
}

void Statement::bind(int index, std::string_view value) {
  if (error_ != SQLITE_OK) return;
  // A null pointer would be bound as NULL.
  const char* const bytes = value.empty() ? "" : value.data();
  error_ = sqlite3_bind_text64(statement_, index, bytes, value.size(), SQLITE_STATIC, SQLITE_UTF8);
}

void Statement::bind(int index, std::optional<std::int64_t> value) {
  if (value) return bind(index, *value);
  if (error_ == SQLITE_OK) error_ = sqlite3_bind_null(statement_, index);
}

Result<bool> Statement::step() {
  if (error_ == SQLITE_OK) error_ = sqlite3_step(statement_);
  if (error_ != SQLITE_ROW && error_ != SQLITE_DONE) return std::unexpected(connection_.error(error_));
  const bool row = error_ == SQLITE_ROW;
  error_ = SQLITE_OK;
  return row;
}

Status Statement::finish() {
  while (true) {
    const Result<bool> row = step();
    if (!row) return std::unexpected(row.error());
    if (!*row) return {};
  }
}

bool Statement::is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_, column); }

std::string_view Statement::view(int column) const {
  // The bytes must be asked for after the text, which may be converted.
  const void* const text = sqlite3_column_text(statement_, column);
  if (text == nullptr) return {};
  return {static_cast<const char*>(text), static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

Connection::Connection(sqlite3* database, const FileOptions& options) : database_(database), options_(options) {}

Connection::~Connection() {
  statements_.clear();
  sqlite3_close(database_);
}

void Connection::FinalizeStatement::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Result<std::unique_ptr<Connection>> Connection::open(const FileOptions& options) {
  sqlite3* database = nullptr;
  // The pool gives a connection to one thread at a time, so SQLite needs no mutex for it.
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int code =
      sqlite3_open_v2(options.path.c_str(), &database, flags, options.vfs.empty() ? nullptr : options.vfs.c_str());
  auto connection = std::make_unique<Connection>(database, options);
  if (code != SQLITE_OK) return std::unexpected(connection->error(code));
  if (Status configured = connection->configure(); !configured) return std::unexpected(configured.error());
  return connection;
}

Status Connection::configure() {
  sqlite3_busy_handler(database_, &Connection::wait_for_lock, this);
  // SQLite opens a file that it may not write for reading only.
  if (sqlite3_db_readonly(database_, "main") == 1) return std::unexpected(error(SQLITE_READONLY));
  return execute_script(
      "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF;"
      "PRAGMA cell_size_check = ON; PRAGMA journal_size_limit = 67108864;");
}

// SQLite's own handler soon sleeps for 100 ms at a time, which is long beside a commit of a millisecond.
int Connection::wait_for_lock(void* connection, int attempt) {
  auto& self = *static_cast<Connection*>(connection);
  const auto now = std::chrono::steady_clock::now();
  if (attempt == 0) self.busy_since_ = now;
  if (now - self.busy_since_ >= self.options_.busy_timeout) return 0;
  std::this_thread::sleep_for(std::chrono::microseconds(std::min(200 * (attempt + 1), 5000)));
  return 1;
}

sqlite3_stmt* Connection::prepare(std::string_view sql, int& error) {
  if (const auto found = statements_.find(sql); found != statements_.end()) return found->second.get();
  sqlite3_stmt* statement = nullptr;
  error = sqlite3_prepare_v3(database_, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &statement,
                             nullptr);
  if (statement != nullptr) statements_.emplace(sql, statement);
  return statement;
}

Status Connection::execute_script(const std::string& sql) {
  const int code = sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return std::unexpected(error(code));
  return {};
}

Result<std::int64_t> Connection::integer(std::string_view sql) {
  Statement query = run(sql);
  const Result<bool> row = query.step();
  if (!row) return std::unexpected(row.error());
  return *row ? query.integer(0) : 0;
}

std::int64_t Connection::changes() const { return sqlite3_changes64(database_); }
std::int64_t Connection::last_row_id() const { return sqlite3_last_insert_rowid(database_); }

Error Connection::error(int code) const {
  Failure failure = {.code = code, .detail = sqlite3_errstr(code)};
  if (database_ != nullptr) {
    const int kind = code & 0xFF;
    if (kind == SQLITE_IOERR || kind == SQLITE_CANTOPEN) failure.system_errno = last_errno(database_);
    if (sqlite3_extended_errcode(database_) == code) failure.detail = sqlite3_errmsg(database_);
  }
  return file_error(options_.path, failure);
}

Transaction::~Transaction() {
  if (!open_) return;
  [[maybe_unused]] const Status rolled_back = connection_.execute("ROLLBACK");
}

Status Transaction::begin() {
  Status begun = connection_.execute("BEGIN IMMEDIATE");
  open_ = begun.has_value();
  return begun;
}

Status Transaction::commit() {
  Status committed = connection_.execute("COMMIT");
  if (committed) open_ = false;
  return committed;
}

}  // namespace allm::sqlite
