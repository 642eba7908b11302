// The elastic pool that runs tool handlers.
//
// A task never waits for a handler that blocks: while tasks are queued, a thread that runs none is on its way to the
// queue, unless max_threads is reached. A thread without a task spins for a moment before it sleeps, and at most one
// thread spins, so short handlers cost no wake-ups and an idle pool uses no CPU. While tasks are short, the submitter
// of a task spins for a few microseconds before it wakes another thread: a running thread often takes the task in that
// time, and a wake-up costs more.
//
// Every handler that runs may turn out to be one that does not return, and a thread cannot be killed. So max_set_aside
// is counted when a handler starts: at most that many handlers run at once, and so at most that many are ever overdue.
// Further handlers wait in the queue.
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

#include "runtime/fork_guard.hpp"
#include "runtime/parker.hpp"

namespace allm {

// Safe to call from any thread. Shared: its threads are detached and hold it, so a handler that never returns keeps
// what it uses alive, and nothing waits for it.
class Pool : public std::enable_shared_from_this<Pool> {
 public:
  // Shared: the batch of a tool call holds the call while the pool runs its handler.
  class Task {
   public:
    virtual ~Task() = default;
    virtual void run() noexcept = 0;
    // Whether it is a handler: it runs code that may not return in time, and counts against max_set_aside.
    virtual bool is_handler() const { return false; }
    // Called instead of run() if the task is a handler and max_set_aside handlers are overdue.
    virtual void refuse() noexcept {}
    // Called instead of run() if the system refuses a thread and no thread is left that could take the task.
    virtual void fail_to_start() noexcept {}
  };

  explicit Pool(const RuntimeOptions& options) : options_(options) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() = default;

  void submit(std::shared_ptr<Task> task);

  // Nobody waits for a running handler any more: its thread no longer counts against max_threads. If max_set_aside is
  // reached, the handlers in the queue are refused.
  void set_aside();
  // A task that was set aside has returned.
  void set_aside_returned();
  // Whether max_set_aside is reached.
  bool full() const { return set_aside_.load(std::memory_order_relaxed) >= options_.max_set_aside; }

  std::size_t max_set_aside() const { return options_.max_set_aside; }

  // Ends idle threads and waits for them. Does not wait for running tasks.
  void stop();

  RuntimeStats stats() const;

 private:
  // Shared: a thread that wakes this one may still use the parker when this one has ended.
  struct PoolThread {
    Parker parker;
    bool idle = false;  // guarded by mutex_: whether it is in idle_; the thread that removes it from there wakes it
  };
  void run_thread(const std::shared_ptr<PoolThread>& thread);
  std::shared_ptr<Task> take_task(std::unique_lock<std::mutex>& lock);
  std::shared_ptr<Task> next_task();
  // The number of tasks that a thread could take now. With the lock.
  std::size_t runnable() const;
  // To be called with the lock, after each change of the queues or of running_handlers_.
  void note_runnable() { runnable_.store(runnable(), std::memory_order_release); }
  bool park(const std::shared_ptr<PoolThread>& thread);
  // Wakes or starts a thread for the queues if none is on its way. Releases the lock.
  void call_thread(std::unique_lock<std::mutex>& lock);
  void spawn();
  void thread_refused();

  const RuntimeOptions options_;
  const ForkMark mark_;  // in a forked child, which has none of the threads, tasks are dropped
  mutable std::mutex mutex_;
  std::condition_variable stopped_;
  std::deque<std::shared_ptr<Task>> queue_;     // tasks that are not handlers; they are taken first
  std::deque<std::shared_ptr<Task>> handlers_;  // handlers that wait for a thread, or for their place
  std::vector<std::shared_ptr<PoolThread>> idle_;
  std::atomic<std::size_t> runnable_{0};  // runnable(), for spinners that hold no lock
  std::atomic<std::size_t> set_aside_{0};
  std::size_t threads_ = 0;
  std::size_t running_ = 0;
  std::size_t running_handlers_ = 0;
  std::size_t searching_ = 0;             // threads awake and on their way to the queue
  std::size_t spinning_submitters_ = 0;   // they call a thread if no thread takes their task soon
  std::atomic<bool> short_tasks_{false};  // whether the last task that ended was short
  std::uint64_t late_ = 0;
  bool stopping_ = false;
};

}  // namespace allm
