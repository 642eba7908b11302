#include "stores/sqlite/list.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "data/names.hpp"
#include "stores/sqlite/clock.hpp"
#include "stores/sqlite/search.hpp"

namespace allm::sqlite {
namespace {

constexpr std::size_t kMaxPage = 1000;
constexpr std::size_t kMaxWords = 100;

// The place after which a page begins is the number of the change that the last session of the page before had.
Result<std::int64_t> page_start(const std::string& after) {
  if (after.empty()) return std::numeric_limits<std::int64_t>::max();
  std::int64_t number = 0;
  const char* const end = after.data() + after.size();
  if (const auto [stop, error] = std::from_chars(after.data(), end, number); error != std::errc() || stop != end) {
    return std::unexpected(validation_error(ValidationError::Reason::invalid_option, {"after"}, "malformed",
                                            "`after` must be the `next` of the page before"));
  }
  return number;
}

// Parameters 1 to 4 are page_start, status, tenant and limit; the words follow.
std::string list_sql(const SessionQuery& query, std::size_t words) {
  std::string sql =
      "SELECT id, title, status, tenant, version, messages, created_at, updated_at, changed FROM sessions "
      "WHERE changed < ?1";
  if (query.status) sql += " AND status = ?2";
  if (query.tenant) sql += " AND tenant = ?3";
  for (std::size_t i = 0; i < words; ++i) sql += " AND " + has_word(static_cast<int>(i) + 5);
  return sql + " ORDER BY changed DESC LIMIT ?4";
}

SessionSummary summary_in(const Statement& row) {
  // A status that somebody wrote into the table by hand must not hide the other sessions.
  const SessionStatus status = enum_from_name<SessionStatus>(row.view(2)).value_or(SessionStatus::error);
  return {.id = row.text(0),
          .title = row.text(1),
          .status = status,
          .tenant = row.text(3),
          .version = row.integer(4),
          .messages = static_cast<std::size_t>(row.integer(5)),
          .created_at = store_time(row.integer(6)),
          .updated_at = store_time(row.integer(7))};
}

// The query asks for one session more than the page has, to know whether there is another page.
Result<SessionPage> read_page(Statement& query, std::size_t limit) {
  SessionPage page;
  std::int64_t last = 0;
  while (true) {
    const Result<bool> row = query.step();
    if (!row) return std::unexpected(row.error());
    if (!*row) return page;
    if (page.sessions.size() == limit) {
      page.next = std::to_string(last);
      return page;
    }
    page.sessions.push_back(summary_in(query));
    last = query.integer(8);
  }
}

}  // namespace

Result<SessionPage> list_sessions(Connection& connection, const SessionQuery& query) {
  const Result<std::int64_t> start = page_start(query.after);
  if (!start) return std::unexpected(start.error());
  const std::vector<std::string> words = search_words(query.text);
  if (words.size() > kMaxWords) {
    return std::unexpected(validation_error(ValidationError::Reason::invalid_option, {"text"}, "too_large",
                                            "a search has at most 100 words"));
  }
  const std::size_t limit = std::clamp<std::size_t>(query.limit, 1, kMaxPage);
  const std::string_view status = query.status ? to_string(*query.status) : "";
  const std::string tenant = query.tenant.value_or("");
  const std::string sql = list_sql(query, words.size());
  Statement statement = connection.run(sql, *start, status, tenant, static_cast<std::int64_t>(limit) + 1);
  for (std::size_t i = 0; i < words.size(); ++i) statement.bind(static_cast<int>(i) + 5, words[i]);
  return read_page(statement, limit);
}

}  // namespace allm::sqlite
