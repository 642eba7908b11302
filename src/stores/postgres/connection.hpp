// One connection to a PostgreSQL server, the arguments of a statement and its rows.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <expected>
#include <libpq-fe.h>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allm/store.hpp"

#include "stores/postgres/address.hpp"

namespace allm::postgres {

// What $1, $2, … are in a statement. Texts are not copied: they must live as long as the arguments.
class Arguments {
 public:
  Arguments& text(std::string_view value);
  Arguments& text(const std::optional<std::string>& value);
  Arguments& texts(const std::vector<std::string_view>& values);
  Arguments& number(std::int64_t value);
  Arguments& number(const std::optional<std::int64_t>& value);
  Arguments& flag(bool value);
  // Cut to a hundred years, so that sums with times do not overflow.
  Arguments& duration(std::chrono::milliseconds value);

 private:
  friend class Connection;
  void add(const char* value, std::size_t size, int format);

  std::vector<const char*> values_;
  std::vector<int> sizes_;
  std::vector<int> formats_;
  std::deque<std::string> owned_;
};

// The result of a statement.
class Rows {
 public:
  explicit Rows(PGresult* result) : result_(result, &::PQclear) {}

  int count() const { return ::PQntuples(result_.get()); }
  int columns() const { return ::PQnfields(result_.get()); }
  bool is_null(int row, int column) const { return ::PQgetisnull(result_.get(), row, column) != 0; }
  std::string_view text(int row, int column) const;
  std::int64_t number(int row, int column) const;  // 0 for null
  bool flag(int row, int column) const { return text(row, column) == "t"; }
  StoreTime time(int row, int column) const;  // of milliseconds since 1970

 private:
  std::unique_ptr<PGresult, decltype(&::PQclear)> result_;
};

struct Failure {
  enum class Kind : std::uint8_t {
    refused,      // the server refused the statement; nothing has changed
    rolled_back,  // another transaction was in the way; nothing has changed, and trying again may succeed
    unreachable,  // there is no connection; nothing was sent
    lost,         // the connection was lost; the statement may have been executed
  };
  Kind kind = Kind::refused;
  Error error;
  std::string sqlstate = {};
};

// One thread at a time.
class Connection {
 public:
  // Blocks until the server has answered or connect_timeout is over.
  static std::expected<Connection, Failure> open(const Address& address);

  // Runs one statement, as a transaction of its own unless one is open, in one round trip.
  std::expected<Rows, Failure> run(const std::string& sql, const Arguments& arguments = {});
  // As run(), but the server parses the statement only once for each connection, which takes one more round trip then,
  // and after some executions plans it only once.
  std::expected<Rows, Failure> run_prepared(const std::string& sql, const Arguments& arguments);
  // Runs several statements as one transaction. Returns the rows of the last.
  std::expected<Rows, Failure> run_script(const std::string& sql);

  // Whether the connection is open as far as this side knows; takes no round trip.
  bool is_open();
  PGconn* get() { return connection_.get(); }

 private:
  explicit Connection(PGconn* connection) : connection_(connection, &::PQfinish) {}
  std::expected<Rows, Failure> rows_of(PGresult* result);
  // The name of the prepared statement.
  std::expected<std::string, Failure> prepare(const std::string& sql);

  std::unique_ptr<PGconn, decltype(&::PQfinish)> connection_;
  std::vector<std::string> secrets_;
  std::map<std::string, std::string> prepared_;  // names by statement; programs use a small number of statements
  int last_prepared_ = 0;
};

}  // namespace allm::postgres
