// The loop: timers, posted tasks, and file descriptors for the transport and for processes. It never runs user code
// that may take long. LoopDriver decides which thread drives it.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>

#include "runtime/fork_guard.hpp"
#include "runtime/loop_driver.hpp"
#include "runtime/loop_task.hpp"
#include "runtime/poller.hpp"

namespace allm {

// Safe to call from any thread, except where a comment says otherwise. The loop thread starts with the first task.
// Shared: the loop thread, the services of the runtime and the calls and exchanges under way hold it.
class Loop : public std::enable_shared_from_this<Loop> {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  Loop() = default;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop() { stop(); }

  // Starts the loop thread unless it runs; false if the system refuses it. Tasks and timers then wait until a thread
  // can be started, or a waiter drives. In a forked child, which does not have the thread, all functions do nothing.
  bool start_thread();

  // Runs the task at `deadline`.
  void arm(std::shared_ptr<LoopTask> task, TimePoint deadline);
  // Returns whether the task was still armed. If it was not, fire() may be running.
  bool cancel(LoopTask& task);
  // Runs the task soon, after all that were posted before it. It cannot be cancelled.
  void post(std::shared_ptr<LoopTask> task);
  // The same for a task that can wait for the next driver: a thread that is about to wait(), or the loop thread within
  // LoopDriver::kMaxGap.
  void post_deferred(std::shared_ptr<LoopTask> task);
  // Ends the loop thread; tasks that have not run never will.
  void stop();

  // Only on the thread that drives: from now on `watcher` is called for these epoll events of `fd`, and for errors and
  // hang-ups. A second call for the same descriptor replaces the first.
  void watch(int fd, unsigned events, Watcher& watcher) { poller_.watch(fd, events, watcher); }
  void unwatch(int fd) {
    if (!mark_.is_of_parent_process()) poller_.unwatch(fd);
  }
  // Stops calling the watcher until the next watch(), which is then cheaper than after unwatch(). For a descriptor that
  // stays open; unwatch() it before it is closed.
  void pause_watch(int fd) { poller_.pause(fd); }
  // From now on watchers may raise SIGPIPE: it is blocked on threads that drive.
  void expect_broken_pipes();

  // Waits until `waiter`, the parker of the calling thread, is woken; false if the deadline came first. Drives the loop
  // meanwhile if this thread may. May return early, as if woken.
  bool wait(Parker& waiter, const std::optional<TimePoint>& deadline) {
    return mark_.is_of_parent_process() || driver_.wait(waiter, deadline);
  }

  // Registers a result that the loop will deliver and that a thread awaits: a response, or the answer of another
  // process. LoopDriver chooses the driver by the registered results. One thread at a time.
  class Awaited {
   public:
    // `waiter_drives`: whether the thread that awaits the result is about to wait() on this loop.
    Awaited(std::shared_ptr<Loop> loop, bool waiter_drives);
    Awaited(const Awaited&) = delete;
    Awaited& operator=(const Awaited&) = delete;
    ~Awaited();
    void set_waiter_drives(bool waiter_drives);

   private:
    const std::shared_ptr<Loop> loop_;
    bool waiter_drives_;
  };

 private:
  void post(std::shared_ptr<LoopTask> task, bool deferred);
  bool start_thread_once();  // with the lock held
  void change_awaited(int awaited, int not_driving);

  const ForkMark mark_;
  std::mutex mutex_;
  TaskQueue tasks_;
  Poller poller_;
  LoopDriver driver_{mutex_, tasks_, poller_};
};

}  // namespace allm
