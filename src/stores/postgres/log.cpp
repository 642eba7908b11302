// Commits and the log.
#include <algorithm>
#include <limits>

#include "engine/request_id.hpp"
#include "stores/postgres/ids.hpp"
#include "stores/postgres/postgres_store.hpp"
#include "stores/postgres/session_columns.hpp"

namespace allm {
namespace {

using postgres::Arguments;
using postgres::Rows;
using namespace std::chrono_literals;

// A thread that waits looks at the table at least this often.
constexpr std::chrono::milliseconds kLookAgain = 20s;

constexpr const char* kCommit =
    "SELECT * FROM allm.commit_change($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)";

// A commit with everything written as the server wants it.
struct CommitTexts {
  std::string id = make_request_id();  // of the commit
  std::vector<std::string_view> kinds = {};
  std::vector<std::string> bodies = {};
  std::optional<postgres::SessionColumns> session = std::nullopt;
};

Result<CommitTexts> texts_of(const Commit& change) {
  CommitTexts texts;
  for (const LogEntry& entry : change.entries) {
    Result<std::string> body = write_json(entry.body);
    if (!body) return std::unexpected(body.error());
    if (!postgres::is_text(entry.kind)) {
      return std::unexpected(validation_error(ValidationError::Reason::invalid_request, {"kind"}, "invalid_type",
                                              "the kind of a log entry must be UTF-8 without NUL characters"));
    }
    texts.kinds.push_back(entry.kind);
    texts.bodies.push_back(*std::move(body));
  }
  if (!change.session) return texts;
  Session session = *change.session;
  session.id = change.session_id;
  Result<postgres::SessionColumns> columns = postgres::columns_of(session);
  if (!columns) return std::unexpected(columns.error());
  texts.session = *std::move(columns);
  return texts;
}

Arguments commit_arguments(const Commit& change, const CommitTexts& texts, bool again) {
  Arguments arguments;
  arguments.text(std::string_view(change.session_id)).number(change.fence).number(change.expected_version);
  arguments.text(std::string_view(texts.id)).flag(again).texts(texts.kinds);
  arguments.texts({texts.bodies.begin(), texts.bodies.end()});
  if (texts.session) {
    texts.session->add_to(arguments);
  } else {
    arguments.text(std::nullopt).text(std::nullopt).text(std::nullopt).number(std::nullopt).text(std::nullopt);
  }
  arguments.number(change.finished_job).flag(change.release);
  if (!change.failed_attempt) {
    arguments.number(std::nullopt).text(std::nullopt);
    return arguments;
  }
  const std::string& error = change.failed_attempt->error;
  arguments.number(change.failed_attempt->job);
  arguments.text(postgres::is_text(error) ? std::string_view(error) : "an error that is not text");
  return arguments;
}

Result<LogEntry> entry_in(const Rows& rows, int row, const std::string& id) {
  LogEntry entry{.number = rows.number(row, 0), .kind = std::string(rows.text(row, 1)), .at = rows.time(row, 3)};
  Result<Json> body = parse_json(rows.text(row, 2));
  if (!body) {
    return std::unexpected(store_error(StoreError::Reason::corrupted, id,
                                       "entry " + std::to_string(entry.number) + " of the log of session '" + id +
                                           "' cannot be read: " + body.error().message()));
  }
  entry.body = *std::move(body);
  return entry;
}

std::string log_statement(std::string_view kind) {
  std::string sql =
      "SELECT number, kind, body, allm.milliseconds(at) FROM allm.log WHERE session_id = $1 AND number > $2";
  if (kind == "facts") sql += " AND kind <> 'event'";
  if (!kind.empty() && kind != "facts") sql += " AND kind = $4";
  return sql + " ORDER BY number LIMIT $3";
}

}  // namespace

Result<Committed> PostgresStore::commit(const Commit& change) {
  if (!postgres::is_session_id(change.session_id)) return std::unexpected(no_such_session(change.session_id));
  const Result<CommitTexts> texts = texts_of(change);
  if (!texts) return std::unexpected(texts.error());
  // The entries in the log tell whether a commit was made, so only a commit with entries can be repeated.
  const Arguments first = commit_arguments(change, *texts, false);
  const Arguments again = commit_arguments(change, *texts, true);
  const auto rows = pool_.run(kCommit, first, change.entries.empty() ? nullptr : &again);
  if (!rows) return std::unexpected(rows.error());
  const std::string_view outcome = rows->text(0, 0);
  if (outcome == "done") return Committed{.version = rows->number(0, 1), .last_number = rows->number(0, 2)};
  if (outcome != "conflict") return std::unexpected(postgres::outcome_error(outcome, change.session_id));
  return std::unexpected(version_conflict(change.session_id, *change.expected_version, rows->number(0, 1)));
}

Result<std::vector<LogEntry>> PostgresStore::read_log(const std::string& id, std::int64_t after, std::size_t limit,
                                                      std::string_view kind) {
  if (!postgres::is_session_id(id)) return std::unexpected(no_such_session(id));
  constexpr std::size_t kMost = std::numeric_limits<std::int64_t>::max();
  Arguments arguments;
  arguments.text(std::string_view(id)).number(after).number(static_cast<std::int64_t>(std::min(limit, kMost)));
  if (!kind.empty() && kind != "facts") arguments.text(kind);
  const auto rows = pool_.run_repeatable(log_statement(kind), arguments);
  if (!rows) return std::unexpected(rows.error());
  std::vector<LogEntry> entries;
  for (int row = 0; row < rows->count(); ++row) {
    Result<LogEntry> entry = entry_in(*rows, row, id);
    if (!entry) return std::unexpected(entry.error());
    entries.push_back(*std::move(entry));
  }
  if (!entries.empty()) return entries;
  const auto found =
      pool_.run_repeatable("SELECT 1 FROM allm.sessions WHERE id = $1", Arguments().text(std::string_view(id)));
  if (!found) return std::unexpected(found.error());
  if (found->count() == 0) return std::unexpected(no_such_session(id));
  return entries;
}

Result<bool> PostgresStore::wait_for_log(const std::string& id, std::int64_t after, std::chrono::milliseconds timeout) {
  using Clock = std::chrono::steady_clock;
  if (!postgres::is_session_id(id)) return std::unexpected(no_such_session(id));
  const auto deadline = Clock::now() + std::clamp<std::chrono::milliseconds>(timeout, 0ms, 8760h);
  postgres::Listener::LogWaiter waiter(listener_, id);
  while (true) {
    const auto rows = pool_.run_repeatable("SELECT allm.follow_log($1, $2)",
                                           Arguments().text(std::string_view(id)).duration(2 * kLookAgain));
    if (!rows) return std::unexpected(rows.error());
    if (rows->is_null(0, 0)) return std::unexpected(no_such_session(id));
    if (rows->number(0, 0) > after) return true;
    if (Clock::now() >= deadline) return false;
    waiter.wait(std::min(deadline, Clock::now() + kLookAgain));
  }
}

}  // namespace allm
