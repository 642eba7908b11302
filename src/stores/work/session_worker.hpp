// Runs the jobs of a work queue, several at once. `allm worker` is a process around one of these.
//
// Each thread claims a job and runs it through a SessionRunner, which renews the lease and ends the job. A worker that
// dies loses nothing: its leases expire, and other workers resume the runs.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "allm/session_runner.hpp"
#include "allm/work_queue.hpp"

#include "stores/journal/lease_clock.hpp"

namespace allm {

// How a job ended.
struct WorkedJob {
  Job job = {};
  std::chrono::milliseconds took = {};
  std::optional<SessionStatus> status = std::nullopt;  // of the session after the run; nullopt if the run failed
  std::optional<Error> error = std::nullopt;
  // The job has ended, because too many attempts at it failed. `error` says so.
  bool is_given_up() const { return job.is_given_up() && error && error->get_if<StoreError>() == nullptr; }
};

struct SessionWorkerOptions {
  std::size_t jobs = 4;  // how many sessions run at once, each on a thread of its own
  ClaimOptions claim = {};
  // Ends when the queue has no jobs left, neither ready nor delayed nor running elsewhere.
  bool until_empty = false;
  CallOptions call = default_options();
  // Called by the threads of the worker, one at a time: after each job, when the store fails, and by the last thread
  // when it ends. They must not call the worker.
  std::function<void(const WorkedJob&)> on_job = {};
  std::function<void(const Error&)> on_store_error = {};
  std::function<void()> on_end = {};
};

class SessionWorker {
 public:
  // Starts the threads. `store` is shared with the runner.
  SessionWorker(SessionRunner runner, std::shared_ptr<Store> store, SessionWorkerOptions options);
  // Stops and waits for the jobs that are running.
  ~SessionWorker();
  SessionWorker(const SessionWorker&) = delete;
  SessionWorker& operator=(const SessionWorker&) = delete;

  // Claims no further jobs. Jobs that are running go on. Does not block.
  void stop();
  bool has_ended();
  // Releases the leases of the jobs that are running, so that other workers can resume them at once. The runs of this
  // process can write nothing more and start no further tool. For a process that is about to exit. Returns how many.
  std::size_t release_jobs();

 private:
  void work();
  void run(const Job& job, LeaseClock::time_point claimed_at);
  // Waits until a job may be ready.
  void wait_for_job();
  void pause(std::chrono::milliseconds time);
  bool is_stopping();
  bool is_empty();
  void report(const Error& error);

  const SessionRunner runner_;
  const std::shared_ptr<Store> store_;  // shared with the runner
  const SessionWorkerOptions options_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stopping_ = false;
  std::size_t active_ = 0;  // threads that have not ended
  std::map<std::int64_t, Lease> running_;
  std::mutex callbacks_;  // held while a callback runs
  std::vector<std::jthread> threads_;
};

}  // namespace allm
