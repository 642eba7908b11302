// The loop thread: timers, and file descriptors for the transport. It moves things on; it never runs
// user code that may take long.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "allm/runtime.hpp"

namespace allm {

class Loop;

// What a timer does. Derive from it and own it by shared_ptr; the loop keeps a reference while it is
// armed.
class Timer::Task {
 public:
  virtual ~Task() = default;
  // Called once on the loop thread unless cancelled before. Must return quickly and not throw.
  virtual void fire() noexcept = 0;

 private:
  friend class Loop;
  friend class Timer;
  static constexpr std::size_t kNotArmed = static_cast<std::size_t>(-1);
  std::chrono::steady_clock::time_point deadline_;
  std::size_t heap_index_ = kNotArmed;
  std::weak_ptr<Loop> loop_;
};

// Told of file descriptors that are ready. The one who watches sees to it that it outlives the watch.
class Watcher {
 public:
  virtual ~Watcher() = default;
  // On the loop thread. `events` as epoll has them. Must return quickly.
  virtual void ready(int fd, unsigned events) noexcept = 0;
};

// Safe from any thread but for what says otherwise. The thread starts with the first timer.
class Loop : public std::enable_shared_from_this<Loop> {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop();

  void arm(std::shared_ptr<Timer::Task> task, TimePoint deadline);
  // Whether the task was still waiting. When it was not, fire() may be running.
  bool cancel(Timer::Task& task);
  // Runs the task on the loop thread soon, after all that were posted before it. It cannot be cancelled.
  void post(std::shared_ptr<Timer::Task> task);
  // Ends the thread; tasks still waiting never fire.
  void stop();

  // On the loop thread only: from now on `watcher` is told of these epoll events of `fd`, and of
  // errors and hang-ups. A second call for the same descriptor replaces the first.
  void watch(int fd, unsigned events, Watcher& watcher);
  void unwatch(int fd);

 private:
  void start_thread();  // unless it runs; the lock is held
  void run();
  // The next one whose time has come, or null.
  std::shared_ptr<Timer::Task> take_due();
  void wait(std::unique_lock<std::mutex>& lock);
  void notify() const;
  std::shared_ptr<Timer::Task> remove(std::size_t index);
  void sift_up(std::size_t index);
  void sift_down(std::size_t index);
  void place(std::size_t index, std::shared_ptr<Timer::Task> task);

  std::mutex mutex_;
  std::vector<std::shared_ptr<Timer::Task>> heap_;  // binary heap, earliest first
  std::deque<std::shared_ptr<Timer::Task>> posted_;
  // When the thread looks next. Arming something later needs no wake-up, which keeps the common
  // case, a deadline that is armed and cancelled, free of system calls.
  TimePoint planned_ = TimePoint::max();
  bool started_ = false;
  bool stopping_ = false;
  int epoll_fd_ = -1;
  int event_fd_ = -1;
  std::unordered_map<int, Watcher*> watched_;  // of the loop thread
  std::thread thread_;
};

}  // namespace allm
