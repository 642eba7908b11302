#include "stores/memory/memory_store.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <utility>

#include "allm/serialize.hpp"

#include "engine/request_id.hpp"
#include "stores/session_text.hpp"
#include "stores/store_errors.hpp"

namespace allm {
namespace {

constexpr std::size_t kMaxSessionsOnPage = 1'000;

StoreTime current_time() {
  return std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

// Other stores keep JSON, so a session that JSON cannot represent is refused here, too.
Status check_storable(const Session& session) {
  if (auto text = to_json(session); !text) return std::unexpected(text.error());
  return {};
}
Status check_storable(const Commit& change) {
  for (const LogEntry& entry : change.entries) {
    if (auto text = write_json(entry.body); !text) return std::unexpected(text.error());
  }
  return change.session ? check_storable(*change.session) : Status();
}

bool matches(const StoredSession& stored, const SessionQuery& query) {
  if (query.status && stored.session.status != *query.status) return false;
  if (query.tenant && stored.tenant != *query.tenant) return false;
  return query.text.empty() || contains_words(searchable_text(stored.session), query.text);
}

bool is_wanted_kind(std::string_view kind, std::string_view wanted) {
  if (wanted.empty()) return true;
  return wanted == "facts" ? kind != "event" : kind == wanted;
}

// SessionQuery::after is the number of the change of the last session on the page before.
Result<std::int64_t> change_before_page(const std::string& after) {
  std::int64_t change = 0;
  if (after.empty()) return std::numeric_limits<std::int64_t>::max();
  const auto [end, error] = std::from_chars(after.data(), after.data() + after.size(), change);
  if (error == std::errc() && end == after.data() + after.size()) return change;
  return std::unexpected(validation_error(ValidationError::Reason::invalid_request, {"after"}, "invalid_type",
                                          "`after` is not the `next` of a page of this store"));
}

}  // namespace

MemoryStore::Row* MemoryStore::find(const std::string& id) {
  const auto found = rows_.find(id);
  return found == rows_.end() ? nullptr : &found->second;
}

Result<StoredSession> MemoryStore::create(NewSession session) {
  if (!session.session.id) session.session.id = make_request_id();
  if (auto storable = check_storable(session.session); !storable) return std::unexpected(storable.error());
  const std::string id = *session.session.id;
  const StoreTime now = current_time();
  const std::lock_guard lock(mutex_);
  if (rows_.contains(id)) return std::unexpected(session_exists(id));
  Row& row = rows_[id];
  row.stored = {.session = std::move(session.session),
                .version = 1,
                .tenant = std::move(session.tenant),
                .created_at = now,
                .updated_at = now};
  row.change = ++last_change_;
  return row.stored;
}

Result<StoredSession> MemoryStore::load(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const Row* row = find(id);
  if (row == nullptr) return std::unexpected(no_such_session(id));
  return row->stored;
}

Result<SessionPage> MemoryStore::list(const SessionQuery& query) {
  const auto before = change_before_page(query.after);
  if (!before) return std::unexpected(before.error());
  const std::size_t limit = std::clamp<std::size_t>(query.limit, 1, kMaxSessionsOnPage);
  const std::lock_guard lock(mutex_);
  std::vector<const Row*> found;
  for (const auto& [id, row] : rows_) {
    if (row.change < *before && matches(row.stored, query)) found.push_back(&row);
  }
  std::ranges::sort(found, std::greater<>(), &Row::change);
  SessionPage page;
  if (found.size() > limit) {
    found.resize(limit);
    page.next = std::to_string(found.back()->change);
  }
  for (const Row* row : found) page.sessions.push_back(summary_of(row->stored));
  return page;
}

Status MemoryStore::remove(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const Row* row = find(id);
  if (row == nullptr) return std::unexpected(no_such_session(id));
  if (row->is_leased(Clock::now())) return std::unexpected(session_leased(id));
  std::erase_if(jobs_, [&](const auto& entry) { return entry.second.job.session_id == id; });
  rows_.erase(id);
  log_changed_.notify_all();
  return {};
}

std::optional<Error> MemoryStore::refusal_of(const Row& row, const Commit& change) {
  const bool leased = row.is_leased(Clock::now());
  if (change.fence && (!leased || row.fence != *change.fence)) return lease_fenced(change.session_id);
  if (!change.fence && leased) return session_leased(change.session_id);
  if (change.expected_version && *change.expected_version != row.stored.version) {
    return version_conflict(change.session_id, *change.expected_version, row.stored.version);
  }
  return std::nullopt;
}

void MemoryStore::apply(Row& row, const Commit& change) {
  const StoreTime now = current_time();
  for (LogEntry entry : change.entries) {
    entry.number = static_cast<std::int64_t>(row.log.size()) + 1;
    entry.at = now;
    row.log.push_back(std::move(entry));
  }
  if (change.session) {
    row.stored.session = *change.session;
    row.stored.session.id = change.session_id;
    row.stored.version += 1;
    row.stored.updated_at = now;
    row.change = ++last_change_;
  }
  const auto job_of = [&](std::int64_t id) {
    const auto job = jobs_.find(id);
    return job != jobs_.end() && job->second.job.session_id == change.session_id ? job : jobs_.end();
  };
  if (change.finished_job) {
    if (const auto job = job_of(*change.finished_job); job != jobs_.end()) jobs_.erase(job);
  }
  if (change.failed_attempt) {
    const auto job = job_of(change.failed_attempt->job);
    if (job != jobs_.end()) fail_attempt(job->second, change.failed_attempt->error);
  }
  if (!change.release) return;
  forgive_attempt(change.session_id, row.fence, false);
  row.fence = 0;
}

Result<Committed> MemoryStore::commit(const Commit& change) {
  if (auto storable = check_storable(change); !storable) return std::unexpected(storable.error());
  const std::lock_guard lock(mutex_);
  Row* row = find(change.session_id);
  if (row == nullptr) return std::unexpected(no_such_session(change.session_id));
  if (auto refusal = refusal_of(*row, change)) return std::unexpected(std::move(*refusal));
  apply(*row, change);
  if (!change.entries.empty()) log_changed_.notify_all();
  if (change.finished_job || change.failed_attempt || change.release) queue_changed_.notify_all();
  return Committed{.version = row->stored.version, .last_number = static_cast<std::int64_t>(row->log.size())};
}

Result<std::vector<LogEntry>> MemoryStore::read_log(const std::string& id, std::int64_t after, std::size_t limit,
                                                    std::string_view kind) {
  const std::lock_guard lock(mutex_);
  const Row* row = find(id);
  if (row == nullptr) return std::unexpected(no_such_session(id));
  std::vector<LogEntry> entries;
  for (auto i = static_cast<std::size_t>(std::max<std::int64_t>(after, 0)); i < row->log.size(); ++i) {
    if (entries.size() == limit) break;
    if (is_wanted_kind(row->log[i].kind, kind)) entries.push_back(row->log[i]);
  }
  return entries;
}

Result<bool> MemoryStore::wait_for_log(const std::string& id, std::int64_t after, std::chrono::milliseconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  std::unique_lock lock(mutex_);
  while (true) {
    const Row* row = find(id);
    if (row == nullptr) return std::unexpected(no_such_session(id));
    if (static_cast<std::int64_t>(row->log.size()) > after) return true;
    if (Clock::now() >= deadline) return false;
    log_changed_.wait_until(lock, deadline);
  }
}

Lease MemoryStore::extend(Row& row, std::chrono::milliseconds duration) {
  row.leased_until = Clock::now() + duration;
  return {.session_id = *row.stored.session.id, .fence = row.fence, .expires_at = current_time() + duration};
}

Lease MemoryStore::grant(Row& row, std::chrono::milliseconds duration) {
  row.fence = ++last_fence_;
  return extend(row, duration);
}

Result<Lease> MemoryStore::acquire(const std::string& id, std::chrono::milliseconds duration) {
  const std::lock_guard lock(mutex_);
  Row* row = find(id);
  if (row == nullptr) return std::unexpected(no_such_session(id));
  if (row->is_leased(Clock::now())) return std::unexpected(session_leased(id));
  return grant(*row, duration);
}

Result<Lease> MemoryStore::renew(const Lease& lease, std::chrono::milliseconds duration) {
  const std::lock_guard lock(mutex_);
  Row* row = find(lease.session_id);
  if (row == nullptr) return std::unexpected(no_such_session(lease.session_id));
  if (row->fence == 0 || row->fence != lease.fence) return std::unexpected(lease_fenced(lease.session_id));
  if (!row->is_leased(Clock::now())) forgive_attempt(lease.session_id, lease.fence, true);
  return extend(*row, duration);
}

Status MemoryStore::release(const Lease& lease) {
  const std::lock_guard lock(mutex_);
  Row* row = find(lease.session_id);
  if (row == nullptr || lease.fence == 0) return {};
  forgive_attempt(lease.session_id, lease.fence, false);
  if (row->fence == lease.fence) row->fence = 0;
  queue_changed_.notify_all();
  return {};
}

}  // namespace allm
