#include <algorithm>
#include <limits>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "stores/memory/memory_store.hpp"
#include "stores/store_errors.hpp"

namespace allm {

Result<std::int64_t> MemoryStore::submit(const NewJob& job) {
  if (auto text = write_json(job.order); !text) return std::unexpected(text.error());
  const std::lock_guard lock(mutex_);
  const Row* row = find(job.session_id);
  if (row == nullptr) return std::unexpected(no_such_session(job.session_id));
  const std::int64_t id = ++last_job_;
  jobs_[id] = {.job = {.id = id,
                       .session_id = job.session_id,
                       .tenant = row->stored.tenant,
                       .order = job.order,
                       .priority = job.priority,
                       .attempt = 0,
                       .max_attempts = job.max_attempts},
               .due = Clock::now() + job.delay,
               .retry_delay = job.retry_delay};
  queue_changed_.notify_all();
  return id;
}

MemoryStore::QueueView MemoryStore::view_queue(Clock::time_point now) const {
  QueueView view;
  std::unordered_set<std::string_view> seen;  // sessions with an earlier job, which comes first
  for (const auto& [id, queued] : jobs_) {
    const Row& row = rows_.at(queued.job.session_id);
    TenantShare& share = view.tenants[queued.job.tenant];
    const bool first = seen.insert(queued.job.session_id).second;
    if (row.is_leased(now) && row.fence == queued.fence) {
      ++view.counts.running;
      ++share.running;
      view.changes_at = std::min(view.changes_at, row.leased_until);
    } else if (first && now >= queued.due && !row.is_leased(now)) {
      ++view.counts.ready;
      if (share.next == nullptr || queued.job.priority > share.next->job.priority) share.next = &queued;
    } else {
      ++view.counts.delayed;
      if (first) view.changes_at = std::min(view.changes_at, row.is_leased(now) ? row.leased_until : queued.due);
    }
  }
  return view;
}

std::int64_t MemoryStore::turn_of(const std::string& tenant) const {
  const auto served = served_.find(tenant);
  return std::max(served == served_.end() ? 0 : served->second.turn, last_turn_ - kMostTurnsBehind);
}

const MemoryStore::QueuedJob* MemoryStore::choose(const QueueView& view, const ClaimOptions& options) const {
  const auto is_served = [&](const TenantShare& share) {
    return share.next != nullptr && (!options.max_per_tenant || share.running < *options.max_per_tenant);
  };
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  for (const auto& [tenant, share] : view.tenants) {
    if (is_served(share)) fewest = std::min(fewest, share.running);
  }
  using Rank = std::tuple<std::int64_t, std::size_t, std::int64_t, std::int64_t>;
  std::optional<Rank> best;
  const QueuedJob* chosen = nullptr;
  for (const auto& [tenant, share] : view.tenants) {
    if (!is_served(share) || share.running > fewest + kTolerance) continue;
    const auto served = served_.find(tenant);
    const Rank rank(turn_of(tenant), share.running, served == served_.end() ? 0 : served->second.last_claim,
                    share.next->job.id);
    if (best && *best <= rank) continue;
    best = rank;
    chosen = share.next;
  }
  return chosen;
}

void MemoryStore::fail_attempt(QueuedJob& queued, const std::string& error) {
  queued.fence = 0;
  queued.job.failures += 1;
  queued.job.last_error = error;
  queued.due = Clock::now() + delay_after_failures(queued.retry_delay, queued.job.failures);
}

void MemoryStore::count_lost_attempts(Clock::time_point now) {
  for (auto& [id, queued] : jobs_) {
    const Row& row = rows_.at(queued.job.session_id);
    if (queued.fence == 0 || (row.fence == queued.fence && row.is_leased(now))) continue;
    queued.lost_fence = queued.fence;
    fail_attempt(queued, kLostAttempt);
  }
}

void MemoryStore::forgive_attempt(const std::string& session_id, std::int64_t fence, bool resumed) {
  if (fence == 0) return;
  for (auto& [id, queued] : jobs_) {
    if (queued.job.session_id != session_id) continue;
    if (queued.fence == fence && !resumed) queued.fence = 0;
    if (queued.lost_fence != fence) continue;
    queued.lost_fence = 0;
    queued.job.failures -= 1;
    queued.due = Clock::now();
    if (resumed) queued.fence = fence;
  }
}

Result<std::optional<Job>> MemoryStore::claim(const ClaimOptions& options) {
  const std::lock_guard lock(mutex_);
  count_lost_attempts(Clock::now());
  const QueuedJob* chosen = choose(view_queue(Clock::now()), options);
  if (chosen == nullptr) return std::nullopt;
  QueuedJob& queued = jobs_.at(chosen->job.id);
  queued.job.lease = grant(rows_.at(queued.job.session_id), options.lease);
  queued.fence = queued.job.lease.fence;
  if (!queued.job.is_given_up()) queued.job.attempt += 1;
  Served& served = served_[queued.job.tenant];
  served.turn = turn_of(queued.job.tenant) + 1;
  served.last_claim = ++last_claim_;
  last_turn_ = std::max(last_turn_, served.turn);
  return queued.job;
}

Result<bool> MemoryStore::wait_for_job(std::chrono::milliseconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  std::unique_lock lock(mutex_);
  while (true) {
    const Clock::time_point now = Clock::now();
    const QueueView view = view_queue(now);
    if (view.counts.ready > 0) return true;
    if (now >= deadline) return false;
    queue_changed_.wait_until(lock, std::min(deadline, view.changes_at));
  }
}

Result<QueueCounts> MemoryStore::count_jobs() {
  const std::lock_guard lock(mutex_);
  return view_queue(Clock::now()).counts;
}

}  // namespace allm
