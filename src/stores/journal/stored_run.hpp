// One run of a stored session, seen from the store: opens it under a lease, commits its facts, renews the lease and
// saves its end. All of it happens on a thread of its own, because stores block.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "allm/session_runner.hpp"
#include "allm/work_queue.hpp"

#include "session/session_run.hpp"
#include "stores/journal/facts.hpp"
#include "stores/journal/journal_queue.hpp"

namespace allm {

struct RunRequest {
  std::string session_id = {};
  std::optional<SessionOrder> order = std::nullopt;       // nullopt: resume the open run
  std::optional<Lease> lease = std::nullopt;              // one that is held already; default: the run acquires one
  LeaseClock::time_point lease_end = {};                  // of that lease, if it is known
  std::optional<std::int64_t> job = std::nullopt;         // ends with the run
  bool keep_lease = false;                                // after the end of the run
  std::optional<std::int64_t> attempt_of = std::nullopt;  // the job that is tried again if the run cannot go on
  // The open run is not resumed, but ended with what is recorded of it: the job is given up.
  std::optional<Job> given_up = std::nullopt;
};

// What is known of a run before its first event.
struct OpenRun {
  Session before = {};  // the session that the run starts from
  SessionRun run = {};
  RecordedRun recorded = {};
  std::int64_t version = 0;  // of the session while it runs
  std::string request_id = {};
  // If set, there is nothing to run: the session was changed and is saved.
  std::optional<Session> finished = std::nullopt;
};

// Shared by the thread that runs work() and the source of the run's events.
class StoredRun {
 public:
  StoredRun(std::shared_ptr<SessionStore> store, const RunnerOptions& options, RunRequest request,
            std::shared_ptr<ToolResultEncoder> encoder);

  // --- For the thread ---
  void work() noexcept;
  bool is_over() const { return over_.load(std::memory_order_acquire); }

  // --- For the source ---
  // The result of opening, once; nullopt while it is not there, and then `waker` is called.
  std::optional<Result<OpenRun>> take_opened(const Waker& waker);
  // Ends the work because its thread could not be started.
  void fail_to_open(Error error);
  const std::shared_ptr<JournalQueue>& queue() const { return queue_; }
  // Of the session, after the last commit.
  std::int64_t version() const { return version_.load(std::memory_order_acquire); }

 private:
  Result<OpenRun> open();
  Result<OpenRun> open_order(StoredSession stored);
  // Acquires the lease, unless it is held. While the store is unavailable, tries again for the duration of a lease.
  Status hold_lease();
  Result<StoredSession> load();
  Result<OpenRun> begin(StoredSession stored);
  // Why the run could not begin from the session with this version.
  Error start_conflict(std::int64_t version);
  Result<OpenRun> reopen(const StoredSession& stored, std::int64_t version);
  Result<LogEntry> find_start(std::int64_t version);
  Status read_facts(std::int64_t after, RecordedRun& recorded);
  void publish(Result<OpenRun> opened);
  // Ends the work after a failure to open the run. A job whose order is not allowed ends.
  void fail_to_begin(const Error& error);
  // Ends the lease, or the attempt at a job, because of an error of the store.
  void end_lease(const Error& error);
  void write();
  bool commit(JournalQueue::Batch batch);
  // Commits; tries again for the duration of a lease while the store is unavailable. If the lease has expired but
  // nobody else has acquired the session, renews it.
  Result<Committed> commit_surely(const Commit& change);
  // Whether a commit was made whose answer was lost.
  Result<std::optional<Committed>> find_commit(const Commit& change);
  Status renew_lease();
  std::chrono::milliseconds renewal_pause() const;
  // Ends the run if the lease is lost; with `gives_up` also if the store is unavailable. Returns the time until the
  // next renewal.
  Result<std::chrono::milliseconds> renew(bool gives_up);
  Commit change(std::vector<LogEntry> entries) const;

  const std::shared_ptr<SessionStore> store_;  // shared with the program
  const RunnerOptions options_;
  const RunRequest request_;
  const std::shared_ptr<ToolResultEncoder> encoder_;  // of the run's options, or null
  const std::shared_ptr<JournalQueue> queue_;
  std::optional<Lease> lease_;
  std::int64_t last_number_ = 0;          // of the session's log; 0: unknown
  bool had_outage_ = false;               // the store could not be reached for a while
  std::atomic<std::int64_t> version_{0};  // of the session, after the last commit
  std::atomic<bool> over_{false};
  std::mutex mutex_;
  std::optional<Result<OpenRun>> opened_;
};

// The version of a session while its open run goes on; nullopt if it has none. `job`: the job that it belongs to.
struct OpenRunMark {
  std::int64_t version = 0;
  std::optional<std::int64_t> job = std::nullopt;
};
std::optional<OpenRunMark> open_run_mark(const Session& session);
Session without_mark(Session session);

}  // namespace allm
