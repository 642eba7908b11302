// The elastic pool that runs tool handlers.
//
// A task never waits behind a handler that blocks: whenever tasks are queued, some thread that is
// not running one is on its way to them. That thread spins for a moment before it sleeps, and there
// is at most one such spinner, so short handlers cost no wake-ups and idle pools no CPU. While tasks prove to be short,
// the submitter of a task spins for a few microseconds, so that a running thread can come back for it, before it wakes
// another: waking costs more than that.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "allm/runtime.hpp"

#include "runtime/parker.hpp"

namespace allm {

// Safe from any thread. Threads are detached and share the pool, so a handler that never returns
// keeps alive what it uses and nothing waits for it.
class Pool : public std::enable_shared_from_this<Pool> {
 public:
  class Task {
   public:
    virtual ~Task() = default;
    virtual void run() noexcept = 0;
  };

  explicit Pool(const RuntimeOptions& options) : options_(options) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() = default;

  void submit(std::shared_ptr<Task> task);

  // A running task will not be waited for any more: its thread no longer counts against the limit.
  void set_aside();
  // A task that was set aside has returned.
  void set_aside_returned();
  // Whether no more may be set aside.
  bool full() const { return set_aside_.load(std::memory_order_relaxed) >= options_.max_set_aside; }

  // Ends idle threads and waits for them; running tasks go on by themselves.
  void stop();

  RuntimeStats stats() const;

 private:
  struct Worker {
    Parker parker;
    bool idle = false;  // guarded by mutex_: in idle_, so that whoever takes it out wakes it
  };
  void run_worker(const std::shared_ptr<Worker>& worker);
  std::shared_ptr<Task> take_task(std::unique_lock<std::mutex>& lock);
  bool park(const std::shared_ptr<Worker>& worker);
  // Calls a thread to the queue if none is on its way. Releases the lock.
  void call_thread(std::unique_lock<std::mutex>& lock);
  void spawn();

  const RuntimeOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable stopped_;
  std::deque<std::shared_ptr<Task>> queue_;
  std::vector<std::shared_ptr<Worker>> idle_;
  std::atomic<std::size_t> queued_{0};  // the queue's size, for spinners that hold no lock
  std::atomic<std::size_t> set_aside_{0};
  std::size_t threads_ = 0;
  std::size_t running_ = 0;
  std::size_t searching_ = 0;             // threads awake and on their way to the queue
  std::size_t spinning_submitters_ = 0;   // they call a thread if no thread takes their task soon
  std::atomic<bool> short_tasks_{false};  // whether the last task that ended was short
  std::uint64_t late_ = 0;
  bool stopping_ = false;
};

}  // namespace allm
