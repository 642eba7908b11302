#include <algorithm>
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
                       .attempt = 0},
               .due = Clock::now() + job.delay};
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

const MemoryStore::QueuedJob* MemoryStore::choose(const QueueView& view, const ClaimOptions& options) const {
  using Rank = std::tuple<std::size_t, std::int64_t, std::int64_t>;  // running jobs, last served, job
  std::optional<Rank> best;
  const QueuedJob* chosen = nullptr;
  for (const auto& [tenant, share] : view.tenants) {
    if (share.next == nullptr || (options.max_per_tenant && share.running >= *options.max_per_tenant)) continue;
    const auto served = served_.find(tenant);
    const Rank rank(share.running, served == served_.end() ? 0 : served->second, share.next->job.id);
    if (best && *best <= rank) continue;
    best = rank;
    chosen = share.next;
  }
  return chosen;
}

Result<std::optional<Job>> MemoryStore::claim(const ClaimOptions& options) {
  const std::lock_guard lock(mutex_);
  const QueuedJob* chosen = choose(view_queue(Clock::now()), options);
  if (chosen == nullptr) return std::nullopt;
  QueuedJob& queued = jobs_.at(chosen->job.id);
  queued.job.lease = grant(rows_.at(queued.job.session_id), options.lease);
  queued.fence = queued.job.lease.fence;
  queued.job.attempt += 1;
  served_[queued.job.tenant] = ++last_claim_;
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
