// A connection to an SQLite file and its prepared statements. One thread at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "allm/error.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace allm::sqlite {

// How to open a file.
struct FileOptions {
  std::string path = {};  // absolute, because the working folder may change between two connections
  // How long a change waits for the changes of other processes. Each takes milliseconds.
  std::chrono::milliseconds busy_timeout = std::chrono::seconds(10);
  std::string vfs = {};  // the file system of SQLite; default: that of the system. For tests
};

class Connection;

// One execution of a statement. The values that were bound must exist as long as it does. A failure to prepare or bind
// is returned by step().
class Statement {
 public:
  Statement(Connection& connection, sqlite3_stmt* statement, int error);
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  void bind(int index, std::int64_t value);
  void bind(int index, std::string_view value);
  void bind(int index, std::optional<std::int64_t> value);

  // True if there is a row.
  Result<bool> step();
  // Steps to the end and drops the rows.
  Status finish();

  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  std::string text(int column) const { return std::string(view(column)); }
  std::string_view view(int column) const;  // valid until the next step

 private:
  Connection& connection_;
  sqlite3_stmt* statement_;
  int error_;
};

class Connection {
 public:
  // The file must exist. Fails with `read_only`, `corrupted` and others.
  static Result<std::unique_ptr<Connection>> open(const FileOptions& options);
  Connection(sqlite3* database, const FileOptions& options);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  // Starts a statement with its arguments bound: integers and texts. The prepared statement is kept for the next time.
  template <class... Arguments>
  Statement run(std::string_view sql, const Arguments&... arguments) {
    int error = 0;
    sqlite3_stmt* const prepared = prepare(sql, error);
    Statement statement(*this, prepared, error);
    [[maybe_unused]] int index = 0;
    (statement.bind(++index, arguments), ...);
    return statement;
  }
  // run() to the end.
  template <class... Arguments>
  Status execute(std::string_view sql, const Arguments&... arguments) {
    return run(sql, arguments...).finish();
  }
  // Several statements without arguments, which are not kept.
  Status execute_script(const std::string& sql);
  // The first column of the only row of a query.
  Result<std::int64_t> integer(std::string_view sql);

  std::int64_t changes() const;      // rows changed by the last statement
  std::int64_t last_row_id() const;  // of the last insert
  const std::string& path() const { return options_.path; }
  std::chrono::milliseconds busy_timeout() const { return options_.busy_timeout; }
  Error error(int code) const;

 private:
  struct FinalizeStatement {
    void operator()(sqlite3_stmt* statement) const;
  };

  sqlite3_stmt* prepare(std::string_view sql, int& error);
  Status configure();
  static int wait_for_lock(void* connection, int attempt);

  sqlite3* database_;
  FileOptions options_;
  std::chrono::steady_clock::time_point busy_since_ = {};
  std::map<std::string, std::unique_ptr<sqlite3_stmt, FinalizeStatement>, std::less<>> statements_;
};

// A change of the file. Without commit(), the destructor undoes it.
class Transaction {
 public:
  explicit Transaction(Connection& connection) : connection_(connection) {}
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();

  Status begin();
  Status commit();

 private:
  Connection& connection_;
  bool open_ = false;
};

}  // namespace allm::sqlite
