// Creating, loading, listing and removing sessions.
#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "allm/serialize.hpp"

#include "data/names.hpp"
#include "engine/request_id.hpp"
#include "stores/postgres/ids.hpp"
#include "stores/postgres/postgres_store.hpp"
#include "stores/postgres/search_words.hpp"
#include "stores/postgres/session_columns.hpp"

namespace allm {
namespace {

using postgres::Arguments;
using postgres::Rows;

constexpr std::size_t kMostOnPage = 1'000;

constexpr const char* kCreate =
    "INSERT INTO allm.sessions (id, tenant, body, status, title, messages, words)"
    " VALUES ($1, $2, $3, $4, $5, $6, strip(to_tsvector('simple', $7))) ON CONFLICT (id) DO NOTHING"
    " RETURNING allm.milliseconds(created_at), allm.milliseconds(updated_at)";

constexpr const char* kLoad =
    "SELECT body, version, tenant, allm.milliseconds(created_at), allm.milliseconds(updated_at)"
    " FROM allm.sessions WHERE id = $1";

Status check_names(const NewSession& session) {
  const char* wrong = !postgres::is_session_id(*session.session.id) ? "id"
                      : !postgres::is_text(session.tenant)          ? "tenant"
                                                                    : nullptr;
  if (wrong == nullptr) return {};
  return std::unexpected(validation_error(
      ValidationError::Reason::invalid_session, {std::string(wrong)}, "invalid_type",
      std::string("the ") + wrong +
          " of a session in PostgreSQL must be valid UTF-8 without NUL characters; an id has at most 1000 bytes"));
}

// The number of the change after which the page starts; lists are sorted by these numbers.
Result<std::int64_t> change_before(const std::string& after) {
  if (after.empty()) return std::numeric_limits<std::int64_t>::max();
  std::int64_t change = 0;
  const auto [end, error] = std::from_chars(after.data(), after.data() + after.size(), change);
  if (error == std::errc() && end == after.data() + after.size()) return change;
  return std::unexpected(validation_error(ValidationError::Reason::invalid_request, {"after"}, "invalid_type",
                                          "`after` is not the `next` of a page of this store"));
}

// A SELECT with the conditions that the query has.
class PageStatement {
 public:
  PageStatement(const SessionQuery& query, std::int64_t before, const std::string& words) {
    arguments_.number(before).number(static_cast<std::int64_t>(page_size(query)) + 1);
    if (!words.empty()) add(" AND words @@ plainto_tsquery('simple', $", words, ")");
    if (query.status) add(" AND status = $", enum_name(*query.status), "");
    if (query.tenant) add(" AND tenant = $", *query.tenant, "");
    sql_ += " ORDER BY change DESC LIMIT $2::bigint";
  }

  static std::size_t page_size(const SessionQuery& query) {
    return std::clamp<std::size_t>(query.limit, 1, kMostOnPage);
  }
  const std::string& sql() const { return sql_; }
  const Arguments& arguments() const { return arguments_; }

 private:
  void add(const char* before, std::string_view value, const char* after) {
    arguments_.text(value);
    sql_ += before + std::to_string(++count_) + after;
  }

  int count_ = 2;
  std::string sql_ =
      "SELECT id, title, status, tenant, version, messages, allm.milliseconds(created_at),"
      " allm.milliseconds(updated_at), change FROM allm.sessions WHERE change < $1::bigint";
  Arguments arguments_;
};

SessionSummary summary_in(const Rows& rows, int row) {
  return {.id = std::string(rows.text(row, 0)),
          .title = std::string(rows.text(row, 1)),
          .status = enum_from_name<SessionStatus>(rows.text(row, 2)).value_or(SessionStatus::error),
          .tenant = std::string(rows.text(row, 3)),
          .version = rows.number(row, 4),
          .messages = static_cast<std::size_t>(rows.number(row, 5)),
          .created_at = rows.time(row, 6),
          .updated_at = rows.time(row, 7)};
}

Result<StoredSession> stored_in(const Rows& rows, const std::string& id) {
  Result<Session> session = from_json<Session>(rows.text(0, 0));
  if (!session) {
    return std::unexpected(store_error(StoreError::Reason::corrupted, id,
                                       "session '" + id + "' cannot be read: " + session.error().message()));
  }
  session->id = id;
  return StoredSession{.session = *std::move(session),
                       .version = rows.number(0, 1),
                       .tenant = std::string(rows.text(0, 2)),
                       .created_at = rows.time(0, 3),
                       .updated_at = rows.time(0, 4)};
}

}  // namespace

Result<StoredSession> PostgresStore::create(NewSession session) {
  if (!session.session.id) session.session.id = make_request_id();
  const std::string id = *session.session.id;
  if (Status checked = check_names(session); !checked) return std::unexpected(checked.error());
  const auto columns = postgres::columns_of(session.session);
  if (!columns) return std::unexpected(columns.error());
  Arguments arguments;
  arguments.text(std::string_view(id)).text(std::string_view(session.tenant));
  columns->add_to(arguments);
  const auto rows = pool_.run_once(kCreate, arguments);
  if (!rows) return std::unexpected(rows.error());
  if (rows->count() == 0) return std::unexpected(session_exists(id));
  return StoredSession{.session = std::move(session.session),
                       .version = 1,
                       .tenant = std::move(session.tenant),
                       .created_at = rows->time(0, 0),
                       .updated_at = rows->time(0, 1)};
}

Result<StoredSession> PostgresStore::load(const std::string& id) {
  if (!postgres::is_session_id(id)) return std::unexpected(no_such_session(id));
  const auto rows = pool_.run_repeatable(kLoad, Arguments().text(std::string_view(id)));
  if (!rows) return std::unexpected(rows.error());
  if (rows->count() == 0) return std::unexpected(no_such_session(id));
  return stored_in(*rows, id);
}

Result<SessionPage> PostgresStore::list(const SessionQuery& query) {
  const auto before = change_before(query.after);
  if (!before) return std::unexpected(before.error());
  if ((query.tenant && !postgres::is_text(*query.tenant)) || !is_utf8(query.text)) return SessionPage{};
  const std::string words = postgres::search_words(query.text);
  const PageStatement statement(query, *before, words);
  const auto rows = pool_.run_repeatable(statement.sql(), statement.arguments(), postgres::Plan::by_values);
  if (!rows) return std::unexpected(rows.error());
  SessionPage page;
  const int most = static_cast<int>(PageStatement::page_size(query));
  for (int row = 0; row < std::min(rows->count(), most); ++row) page.sessions.push_back(summary_in(*rows, row));
  if (rows->count() > most) page.next = std::to_string(rows->number(most - 1, 8));
  return page;
}

Status PostgresStore::remove(const std::string& id) {
  if (!postgres::is_session_id(id)) return std::unexpected(no_such_session(id));
  const auto rows = pool_.run_once("SELECT allm.remove_session($1)", Arguments().text(std::string_view(id)));
  if (!rows) return std::unexpected(rows.error());
  if (rows->text(0, 0) != "done") return std::unexpected(postgres::outcome_error(rows->text(0, 0), id));
  return {};
}

}  // namespace allm
