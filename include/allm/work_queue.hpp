// A queue of runs: any process submits a message for a session, any worker claims it and runs the session.
//
// A job is claimed by one worker at a time, with the lease of its session; two jobs of one session run one after the
// other, in the order of their submission. When a worker dies, its lease expires, and another worker gets the job
// again. Jobs are shared out fairly: of the tenants that have a job ready and are below their limit, those with the
// fewest running jobs, or one more, are considered; of these, the one of which the fewest jobs were claimed comes next
// (a tenant that had no jobs for a while is at most eight claims behind the others); among equals, the one that was
// served the longest time ago. Within a tenant, a higher priority comes first, then the earlier submission.
//
// An attempt at a job fails if its worker dies or loses the lease, or if a commit says so (Commit::failed_attempt).
// After n failures the job waits for retry_delay · 2ⁿ⁻¹, at most ten minutes. Attempts whose lease was released do not
// count: a worker that shuts down releases its leases, and so does one that finds, after the store could not be
// reached, that its lease has expired; this takes back what was counted meanwhile. After NewJob::max_attempts failures
// the next claim returns the job for the last time, not to be run but to be given up (Job::is_given_up):
// SessionRunner::run_job records that in the log and ends the job.
//
// All functions block, fail with StoreError, and are safe to call from any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "allm/store.hpp"

namespace allm {

struct NewJob {
  std::string session_id = {};                                      // its tenant is the tenant of the job
  Json order = empty_object();                                      // what to do; allm/session_runner.hpp describes it
  int priority = 0;                                                 // a higher one comes first
  std::chrono::milliseconds delay = std::chrono::milliseconds(0);   // not claimed before
  int max_attempts = 5;                                             // failed attempts until it is given up; 0: no limit
  std::chrono::milliseconds retry_delay = std::chrono::seconds(1);  // after the first failed attempt; then it doubles
};

struct Job {
  std::int64_t id = 0;
  std::string session_id = {};
  std::string tenant = {};
  Json order = empty_object();
  int priority = 0;
  int attempt = 1;  // greater than 1 if a worker lost or released its lease
  Lease lease = {};
  int failures = 0;  // attempts that failed
  int max_attempts = 5;
  std::string last_error = {};  // why the last of them failed
  // The job must not be run any more.
  bool is_given_up() const { return max_attempts > 0 && failures >= max_attempts; }
};

struct ClaimOptions {
  std::chrono::milliseconds lease = std::chrono::seconds(30);  // long enough for a few heartbeats that come late
  // How many jobs of one tenant may run at the same time. Default: no limit.
  std::optional<std::size_t> max_per_tenant = std::nullopt;
};

struct QueueCounts {
  std::size_t ready = 0;    // can be claimed now
  std::size_t delayed = 0;  // wait for their time, or for another job of their session
  std::size_t running = 0;
};

class WorkQueue {
 public:
  virtual ~WorkQueue() = default;

  // Returns the id of the job. Fails with `not_found` if there is no such session.
  virtual Result<std::int64_t> submit(const NewJob& job) = 0;
  // The next job with the lease of its session, or nullopt if none is ready. The job ends when a commit names it
  // (Commit::finished_job). If its lease is released before, it is ready again; if the lease expires, this is a failed
  // attempt.
  virtual Result<std::optional<Job>> claim(const ClaimOptions& options) = 0;
  // Waits until a job may be ready, at most `timeout`. False on timeout.
  virtual Result<bool> wait_for_job(std::chrono::milliseconds timeout) = 0;
  virtual Result<QueueCounts> count_jobs() = 0;
};

// What open_store returns: sessions and the queue in one database.
class Store : public SessionStore, public WorkQueue {};

// Opens "memory:", "sqlite:PATH" (creates the file if it does not exist) or "postgresql://…" (a libpq URL; creates its
// tables in the schema `allm`). Older schemas are migrated. Programs share the store with the runners that use it.
// Fails with StoreError `invalid_url`, `future_version` (a newer allm wrote it), `unavailable`, `read_only` or
// `corrupted`.
Result<std::shared_ptr<Store>> open_store(const std::string& url);

}  // namespace allm
