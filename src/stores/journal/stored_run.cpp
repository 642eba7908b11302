#include "stores/journal/stored_run.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "stores/journal/job_end.hpp"
#include "stores/journal/session_journal.hpp"
#include "stores/journal/store_attempts.hpp"

namespace allm {

std::optional<OpenRunMark> open_run_mark(const Session& session) {
  if (!session.metadata.is_object()) return std::nullopt;
  const auto mark = session.metadata.find(kOpenRun);
  if (mark == session.metadata.end() || !mark->is_object()) return std::nullopt;
  const auto version = mark->find("version");
  if (version == mark->end() || !version->is_number_integer()) return std::nullopt;
  OpenRunMark open{.version = version->get<std::int64_t>()};
  if (const auto job = mark->find("job"); job != mark->end() && job->is_number_integer()) {
    open.job = job->get<std::int64_t>();
  }
  return open;
}

Session without_mark(Session session) {
  if (session.metadata.is_object()) session.metadata.erase(kOpenRun);
  return session;
}

StoredRun::StoredRun(std::shared_ptr<SessionStore> store, const RunnerOptions& options, RunRequest request,
                     std::shared_ptr<ToolResultEncoder> encoder)
    : store_(std::move(store)),
      options_(options),
      request_(std::move(request)),
      encoder_(std::move(encoder)),
      queue_(std::make_shared<JournalQueue>()),
      lease_(request_.lease) {
  queue_->set_lease_end(request_.lease_end);
}

void StoredRun::work() noexcept {
  Result<OpenRun> opened = open();
  if (!opened) {
    fail_to_begin(opened.error());
    publish(std::move(opened));
  } else {
    const bool is_finished = opened->finished.has_value();
    publish(std::move(opened));
    if (!is_finished) write();
  }
  over_.store(true, std::memory_order_release);
}

std::optional<Result<OpenRun>> StoredRun::take_opened(const Waker& waker) {
  queue_->watch(waker);
  const std::lock_guard lock(mutex_);
  return std::exchange(opened_, std::nullopt);
}

void StoredRun::publish(Result<OpenRun> opened) {
  {
    const std::lock_guard lock(mutex_);
    opened_ = std::move(opened);
  }
  queue_->wake();
}

void StoredRun::fail_to_open(Error error) {
  fail_to_begin(error);
  publish(std::unexpected(std::move(error)));
}

void StoredRun::fail_to_begin(const Error& error) {
  if (!lease_) return;
  const bool is_refused = error.get_if<StoreError>() == nullptr || is_store_error(error, StoreReason::conflict);
  if (request_.job && is_refused) {
    Commit refusal = change({order_refused_fact(*request_.job, error)});
    refusal.expected_version = std::nullopt;
    refusal.finished_job = request_.job;
    refusal.release = true;
    if (commit_surely(refusal)) return;
  }
  end_lease(error);
}

// If this fails, the lease expires.
void StoredRun::end_lease(const Error& error) {
  // Whoever is fenced off has failed, unless the store was out of reach: releasing takes the failure back.
  if (is_store_error(error, StoreReason::fenced) && !had_outage_) return;
  [[maybe_unused]] const Status ended =
      request_.attempt_of ? end_attempt(*store_, *request_.attempt_of, *lease_, error) : store_->release(*lease_);
}

Status StoredRun::hold_lease() {
  if (lease_) return {};
  // An attempt whose answer was lost may have made a lease, which nobody holds: it is waited for, and a little longer.
  std::optional<Attempts> lost;
  Attempts attempts(options_.lease);
  while (true) {
    const auto asked_at = LeaseClock::now();
    Result<Lease> lease = store_->acquire(request_.session_id, options_.lease);
    if (lease) {
      lease_ = *std::move(lease);
      queue_->set_lease_end(lease_end(asked_at, options_.lease));
      return {};
    }
    const bool is_lost = is_store_error(lease.error(), StoreReason::unavailable);
    const bool is_leased = is_store_error(lease.error(), StoreReason::leased);
    const bool waits = (is_lost && !attempts.are_over()) || (is_leased && lost && !lost->are_over());
    if (!waits || queue_->is_closed()) return std::unexpected(lease.error());
    if (is_lost) lost.emplace(options_.lease + std::chrono::seconds(1));
    attempts.pause();
  }
}

Result<StoredSession> StoredRun::load() {
  Result<StoredSession> stored = store_->load(request_.session_id);
  if (stored) version_.store(stored->version, std::memory_order_release);
  return stored;
}

Commit StoredRun::change(std::vector<LogEntry> entries) const {
  return {.session_id = request_.session_id,
          .fence = lease_->fence,
          .expected_version = version(),
          .entries = std::move(entries)};
}

void StoredRun::write() {
  auto renew_at = JournalQueue::Clock::now() + renewal_pause();
  std::optional<Attempts> waiting;  // since something wants to start and may not
  while (true) {
    JournalQueue::Batch batch = queue_->take(renew_at);
    const bool is_last = batch.session.has_value();
    const bool is_closed = batch.closed;
    const bool needs_lease = batch.needs_lease;
    if (!batch.entries.empty() && !commit(std::move(batch))) return;
    if (is_last) return;
    if (is_closed) {
      [[maybe_unused]] const Status released = store_->release(*lease_);
      return;
    }
    if (!needs_lease && JournalQueue::Clock::now() < renew_at) continue;
    if (needs_lease && !waiting) waiting.emplace(options_.lease);
    const Result<std::chrono::milliseconds> pause = renew(waiting && waiting->are_over());
    if (!pause) return;
    if (queue_->has_lease()) waiting.reset();
    renew_at = JournalQueue::Clock::now() + *pause;
  }
}

bool StoredRun::commit(JournalQueue::Batch batch) {
  const JournalQueue::Position last = batch.last;
  Commit facts = change(std::move(batch.entries));
  if (batch.session) {
    facts.session = without_mark(*std::move(batch.session));
    if (request_.given_up) facts.session = with_given_up(*std::move(facts.session), *request_.given_up);
    facts.finished_job = request_.job;
    facts.release = !request_.keep_lease;
    if (request_.job) facts.entries.back().body["job"] = *request_.job;
  }
  const Result<Committed> committed = commit_surely(facts);
  if (!committed) {
    queue_->fail(committed.error());
    end_lease(committed.error());
    return false;
  }
  last_number_ = committed->last_number;
  version_.store(committed->version, std::memory_order_release);
  queue_->committed(last);
  return true;
}

Result<Committed> StoredRun::commit_surely(const Commit& change) {
  Attempts attempts(options_.lease);
  bool was_renewed = false;
  bool may_be_made = false;
  while (true) {
    Result<Committed> committed = store_->commit(change);
    if (committed) return committed;
    if (is_store_error(committed.error(), StoreReason::fenced) && !was_renewed) {
      const Status renewed = renew_lease();
      was_renewed = renewed.has_value();
      if (was_renewed) continue;
      if (!is_store_error(renewed.error(), StoreReason::unavailable)) {
        const auto made = may_be_made ? find_commit(change) : std::nullopt;
        return made && *made ? **made : committed;
      }
    } else if (is_store_error(committed.error(), StoreReason::unavailable)) {
      may_be_made = true;
      had_outage_ = true;
    } else {
      const auto made = may_be_made ? find_commit(change) : std::nullopt;
      return made && *made ? **made : committed;
    }
    Result<std::optional<Committed>> made = std::nullopt;
    do {
      if (attempts.are_over()) return committed;
      attempts.pause();
      // The lost statement may still run. Renewing waits for it, because both lock the session.
      [[maybe_unused]] const Status renewed = renew_lease();
      made = find_commit(change);
    } while (!made && is_store_error(made.error(), StoreReason::unavailable));
    if (!made) return committed;
    if (*made) return **made;
  }
}

Result<std::optional<Committed>> StoredRun::find_commit(const Commit& change) {
  const LogEntry& first = change.entries.front();
  const bool is_start = first.kind == fact::run_started;
  std::vector<LogEntry> found;
  if (is_start) {
    Result<LogEntry> start = find_start(version() + 1);
    if (start) {
      found.push_back(*std::move(start));
    } else if (!is_store_error(start.error(), StoreReason::corrupted)) {
      return std::unexpected(start.error());
    }
  } else if (last_number_ > 0) {
    Result<std::vector<LogEntry>> next = store_->read_log(request_.session_id, last_number_, 1);
    if (!next) return std::unexpected(next.error());
    found = *std::move(next);
  }
  if (found.empty() || found.front().kind != first.kind || found.front().body != first.body) return std::nullopt;
  return Committed{version() + (change.session ? 1 : 0),
                   found.front().number + static_cast<std::int64_t>(change.entries.size()) - 1};
}

Status StoredRun::renew_lease() {
  const auto asked_at = LeaseClock::now();
  Result<Lease> renewed = store_->renew(*lease_, options_.lease);
  if (!renewed) return std::unexpected(renewed.error());
  lease_ = *std::move(renewed);
  queue_->set_lease_end(lease_end(asked_at, options_.lease));
  return {};
}

std::chrono::milliseconds StoredRun::renewal_pause() const {
  return std::max(options_.lease / 3, std::chrono::milliseconds(1));
}

Result<std::chrono::milliseconds> StoredRun::renew(bool gives_up) {
  const Status renewed = renew_lease();
  if (renewed) return renewal_pause();
  // While the database cannot be reached, the lease may still be valid: the next commit decides.
  const bool is_away = is_store_error(renewed.error(), StoreReason::unavailable);
  had_outage_ = had_outage_ || is_away;
  if (is_away && !gives_up) {
    return std::min(renewal_pause(), std::chrono::milliseconds(1'000));
  }
  queue_->fail(renewed.error());
  end_lease(renewed.error());
  return std::unexpected(renewed.error());
}

}  // namespace allm
