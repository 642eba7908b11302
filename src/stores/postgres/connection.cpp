#include "stores/postgres/connection.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <poll.h>

#include "stores/store_errors.hpp"

namespace allm::postgres {
namespace {

constexpr int kText = 0;
constexpr int kBinary = 1;

constexpr std::string_view kUnknownStatement = "26000";
constexpr std::string_view kOutdatedStatement = "0A000";

// What the promises of a store rely on, whatever the server's or the role's settings are.
constexpr const char* kSettings =
    "SET default_transaction_isolation = 'read committed';"
    "SET client_min_messages = warning;"
    "SET jit = off;"
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'";

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

StoreError::Reason reason_of(std::string_view sqlstate) {
  using Reason = StoreError::Reason;
  if (sqlstate == "53100") return Reason::full;
  if (sqlstate == "25006" || sqlstate == "42501") return Reason::read_only;  // a standby; missing rights
  if (sqlstate.starts_with("XX") || sqlstate == "42P01" || sqlstate == "42883" || sqlstate == "42703") {
    return Reason::corrupted;  // damaged pages; tables, functions or columns of the schema are missing
  }
  return Reason::unavailable;
}

Failure::Kind kind_of(std::string_view sqlstate, const PGconn* connection) {
  if (::PQstatus(connection) != CONNECTION_OK || sqlstate.starts_with("08") || sqlstate.starts_with("57P")) {
    return Failure::Kind::lost;
  }
  return sqlstate.starts_with("40") ? Failure::Kind::rolled_back : Failure::Kind::refused;
}

void ignore_notice(void*, const PGresult*) {}

void append_network_order(std::string& bytes, std::size_t number) {
  for (const unsigned shift : {24U, 16U, 8U, 0U}) bytes += static_cast<char>((number >> shift) & 0xFFU);
}

}  // namespace

void Arguments::add(const char* value, std::size_t size, int format) {
  values_.push_back(value);
  sizes_.push_back(static_cast<int>(size));
  formats_.push_back(format);
}

// Binary, so that the server sees a NUL byte instead of the end of the text. A null pointer would be SQL's NULL.
Arguments& Arguments::text(std::string_view value) {
  add(value.data() == nullptr ? "" : value.data(), value.size(), kBinary);
  return *this;
}

Arguments& Arguments::text(const std::optional<std::string>& value) {
  if (value) return text(std::string_view(*value));
  add(nullptr, 0, kBinary);
  return *this;
}

Arguments& Arguments::texts(const std::vector<std::string_view>& values) {
  constexpr std::size_t kTextType = 25;
  std::string& array = owned_.emplace_back();
  append_network_order(array, 1);  // dimensions
  append_network_order(array, 0);  // no nulls
  append_network_order(array, kTextType);
  append_network_order(array, values.size());
  append_network_order(array, 1);  // the first index
  for (const std::string_view value : values) {
    append_network_order(array, value.size());
    array += value;
  }
  add(array.data(), array.size(), kBinary);
  return *this;
}

Arguments& Arguments::number(std::int64_t value) {
  const std::string& text = owned_.emplace_back(std::to_string(value));
  add(text.c_str(), text.size(), kText);
  return *this;
}

Arguments& Arguments::number(const std::optional<std::int64_t>& value) {
  if (value) return number(*value);
  add(nullptr, 0, kText);
  return *this;
}

Arguments& Arguments::flag(bool value) {
  add(value ? "t" : "f", 1, kText);
  return *this;
}

Arguments& Arguments::duration(std::chrono::milliseconds value) {
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 366 * 100);
  return number(std::clamp(value, std::chrono::milliseconds(0), kLongest).count());
}

std::string_view Rows::text(int row, int column) const {
  return {::PQgetvalue(result_.get(), row, column),
          static_cast<std::size_t>(::PQgetlength(result_.get(), row, column))};
}

std::int64_t Rows::number(int row, int column) const {
  const std::string_view digits = text(row, column);
  std::int64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

StoreTime Rows::time(int row, int column) const { return StoreTime(std::chrono::milliseconds(number(row, column))); }

std::expected<Connection, Failure> Connection::open(const Address& address) {
  std::vector<const char*> names;
  std::vector<const char*> values;
  for (const auto& [name, value] : address.parameters) {
    names.push_back(name.c_str());
    values.push_back(value.c_str());
  }
  names.push_back(nullptr);
  values.push_back(nullptr);
  Connection connection(::PQconnectdbParams(names.data(), values.data(), 0));
  connection.secrets_ = address.secrets;
  // The password may also come from the environment or from a password file.
  if (const char* password = ::PQpass(connection.get()); password != nullptr && *password != '\0') {
    connection.secrets_.emplace_back(password);
  }
  if (::PQstatus(connection.get()) != CONNECTION_OK) {
    const std::string message = trimmed(without_secrets(::PQerrorMessage(connection.get()), connection.secrets_));
    return std::unexpected(Failure{
        .kind = Failure::Kind::unreachable,
        .error = store_error(StoreError::Reason::unavailable, "the PostgreSQL server cannot be reached: " + message)});
  }
  ::PQsetNoticeReceiver(connection.get(), &ignore_notice, nullptr);
  if (auto set = connection.run_script(kSettings); !set) {
    Failure failure = std::move(set.error());
    failure.kind = Failure::Kind::unreachable;  // nothing of the caller was sent
    return std::unexpected(std::move(failure));
  }
  return connection;
}

std::expected<Rows, Failure> Connection::run(const std::string& sql, const Arguments& arguments) {
  return rows_of(::PQexecParams(connection_.get(), sql.c_str(), static_cast<int>(arguments.values_.size()), nullptr,
                                arguments.values_.data(), arguments.sizes_.data(), arguments.formats_.data(), kText));
}

std::expected<Rows, Failure> Connection::run_prepared(const std::string& sql, const Arguments& arguments) {
  const std::expected<std::string, Failure> name = prepare(sql);
  if (!name) return std::unexpected(name.error());
  std::expected<Rows, Failure> rows =
      rows_of(::PQexecPrepared(connection_.get(), name->c_str(), static_cast<int>(arguments.values_.size()),
                               arguments.values_.data(), arguments.sizes_.data(), arguments.formats_.data(), kText));
  if (rows || (rows.error().sqlstate != kUnknownStatement && rows.error().sqlstate != kOutdatedStatement)) return rows;
  // Nothing was executed: somebody has dropped the statement, or changed what it refers to.
  prepared_.erase(sql);
  return run(sql, arguments);
}

std::expected<std::string, Failure> Connection::prepare(const std::string& sql) {
  if (const auto known = prepared_.find(sql); known != prepared_.end()) return known->second;
  std::string name = "allm_" + std::to_string(++last_prepared_);
  if (auto done = rows_of(::PQprepare(connection_.get(), name.c_str(), sql.c_str(), 0, nullptr)); !done) {
    return std::unexpected(std::move(done.error()));
  }
  prepared_.emplace(sql, name);
  return name;
}

std::expected<Rows, Failure> Connection::run_script(const std::string& sql) {
  return rows_of(::PQexec(connection_.get(), sql.c_str()));
}

std::expected<Rows, Failure> Connection::rows_of(PGresult* result) {
  Rows rows(result);
  const ExecStatusType status = ::PQresultStatus(result);
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) return rows;
  const char* field = ::PQresultErrorField(result, PG_DIAG_SQLSTATE);
  std::string sqlstate = field == nullptr ? "" : field;
  const Failure::Kind kind = kind_of(sqlstate, connection_.get());
  const std::string message = trimmed(without_secrets(::PQerrorMessage(connection_.get()), secrets_));
  const bool lost = kind == Failure::Kind::lost;
  Error error = store_error(lost ? StoreError::Reason::unavailable : reason_of(sqlstate),
                            (lost ? "the connection to PostgreSQL was lost: " : "PostgreSQL failed: ") + message);
  return std::unexpected(Failure{.kind = kind, .error = std::move(error), .sqlstate = std::move(sqlstate)});
}

bool Connection::is_open() {
  pollfd socket{.fd = ::PQsocket(connection_.get()), .events = POLLIN, .revents = 0};
  if (socket.fd < 0) return false;
  // Between statements a server says nothing, unless it closes the connection or its configuration changes. A
  // connection that is closed without need does no harm.
  return ::poll(&socket, 1, 0) == 0 && ::PQstatus(connection_.get()) == CONNECTION_OK;
}

}  // namespace allm::postgres
