// A store in the memory of this process, for tests and for programs that need no durability. Its sessions are gone when
// the last pointer to the store is.
//
// One mutex protects everything, and nothing blocks while it is held. Claiming a job takes time linear in the number of
// jobs.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "allm/work_queue.hpp"

namespace allm {

class MemoryStore : public Store {
 public:
  Result<StoredSession> create(NewSession session) override;
  Result<StoredSession> load(const std::string& id) override;
  Result<SessionPage> list(const SessionQuery& query) override;
  Status remove(const std::string& id) override;
  Result<Committed> commit(const Commit& change) override;
  Result<std::vector<LogEntry>> read_log(const std::string& id, std::int64_t after, std::size_t limit,
                                         std::string_view kind) override;
  Result<bool> wait_for_log(const std::string& id, std::int64_t after, std::chrono::milliseconds timeout) override;
  Result<Lease> acquire(const std::string& id, std::chrono::milliseconds duration) override;
  Result<Lease> renew(const Lease& lease, std::chrono::milliseconds duration) override;
  Status release(const Lease& lease) override;

  Result<std::int64_t> submit(const NewJob& job) override;
  Result<std::optional<Job>> claim(const ClaimOptions& options) override;
  Result<bool> wait_for_job(std::chrono::milliseconds timeout) override;
  Result<QueueCounts> count_jobs() override;

 private:
  // Leases and delays use this clock, because the time of day may jump.
  using Clock = std::chrono::steady_clock;

  struct Row {
    StoredSession stored = {};
    std::int64_t change = 0;  // the number of the change that made this version; lists are sorted by it
    std::vector<LogEntry> log = {};
    std::int64_t fence = 0;               // of the latest lease; 0: the session has no lease
    Clock::time_point leased_until = {};  // of that lease
    bool is_leased(Clock::time_point now) const { return fence != 0 && now < leased_until; }
  };
  struct QueuedJob {
    Job job = {};
    Clock::time_point due = {};
    std::chrono::milliseconds retry_delay = {};
    std::int64_t fence = 0;       // of the current attempt; 0: there is none
    std::int64_t lost_fence = 0;  // of the attempt that was counted last because its lease had expired
  };
  struct Served {
    std::int64_t turn = 0;        // claims, at most kMostTurnsBehind fewer than those of another tenant
    std::int64_t last_claim = 0;  // the number of the last claim
  };
  struct TenantShare {
    std::size_t running = 0;
    const QueuedJob* next = nullptr;  // the ready job that comes first
  };
  // The state of the queue at one moment.
  struct QueueView {
    std::map<std::string, TenantShare> tenants = {};
    QueueCounts counts = {};
    // The earliest time at which a job may become ready without a call of the store.
    Clock::time_point changes_at = Clock::time_point::max();
  };

  // The functions below need the mutex.
  Row* find(const std::string& id);
  Lease grant(Row& row, std::chrono::milliseconds duration);
  static Lease extend(Row& row, std::chrono::milliseconds duration);
  static std::optional<Error> refusal_of(const Row& row, const Commit& change);
  void apply(Row& row, const Commit& change);
  QueueView view_queue(Clock::time_point now) const;
  const QueuedJob* choose(const QueueView& view, const ClaimOptions& options) const;
  std::int64_t turn_of(const std::string& tenant) const;
  // Counts a failed attempt.
  static void fail_attempt(QueuedJob& queued, const std::string& error);
  // Counts the attempts whose leases have expired.
  void count_lost_attempts(Clock::time_point now);
  // Ends the current attempt with this fence without counting it. `resumed`: the attempt goes on.
  void forgive_attempt(const std::string& session_id, std::int64_t fence, bool resumed);

  std::mutex mutex_;
  std::condition_variable log_changed_;
  std::condition_variable queue_changed_;
  std::unordered_map<std::string, Row> rows_;
  std::map<std::int64_t, QueuedJob> jobs_;  // by id, that is in the order of submission
  std::map<std::string, Served> served_;    // by tenant
  std::int64_t last_change_ = 0;
  std::int64_t last_fence_ = 0;  // of all sessions, so that a session which is made again does not repeat a fence
  std::int64_t last_job_ = 0;
  std::int64_t last_claim_ = 0;
  std::int64_t last_turn_ = 0;  // the greatest turn of a tenant
};

}  // namespace allm
