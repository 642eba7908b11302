// Which thread drives the loop.
//
// To drive the loop means to wait for its descriptors and to run its tasks. One thread at a time does. A thread that
// waits for a result of the loop (a waiter) drives the loop itself if nobody else waits for one: what arrives then
// reaches its consumer without passing through another thread. In all other cases the loop thread drives.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/loop_task.hpp"
#include "runtime/poller.hpp"

namespace allm {

class Parker;

// Part of a Loop, which owns it and whose mutex guards it: "locked" means that the caller holds that mutex.
class LoopDriver {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  // How long nobody may drive while results are awaited: a waiter that has left comes back within that time, or the
  // loop thread takes over.
  static constexpr std::chrono::seconds kMaxGap{1};

  LoopDriver(std::mutex& mutex, TaskQueue& tasks, Poller& poller) : mutex_(mutex), tasks_(tasks), poller_(poller) {}
  LoopDriver(const LoopDriver&) = delete;
  LoopDriver& operator=(const LoopDriver&) = delete;
  ~LoopDriver() = default;

  // Locked.
  bool has_thread() const { return started_; }
  bool has_driver() const { return driver_ != Driver::none; }
  bool is_stopping() const { return stopping_; }
  // Starts the loop thread, which holds `owner` until it ends. False if the system refuses the thread.
  bool start_thread(std::shared_ptr<void> owner);
  // Makes the driver look at the tasks by `time`. If nobody drives, the loop thread does.
  void look_by(TimePoint time);
  // From now on watchers may raise SIGPIPE: it is blocked on threads that drive.
  void expect_broken_pipes() { broken_pipes_ = true; }

  // Takes the lock. Counts awaited results, and those of them whose waiter does not drive.
  void change_awaited(int awaited, int not_driving);
  // Takes the lock. Waits until `waiter`, the parker of the calling thread, is woken; false if the deadline came first.
  // Drives the loop meanwhile if this thread may. May return early, as if woken.
  bool wait(Parker& waiter, const std::optional<TimePoint>& deadline);
  // Locked; unlocks. Ends the loop thread and waits until nobody drives.
  void stop(std::unique_lock<std::mutex>& lock);

 private:
  enum class Driver : std::uint8_t { none, loop_thread, waiter };
  using Lock = std::unique_lock<std::mutex>;

  void run();
  void sleep_until_needed(Lock& lock);
  void drive_as_loop_thread(Lock& lock);
  bool drive_as_waiter(Lock& lock, Parker& waiter, const std::optional<TimePoint>& deadline);
  void begin_driving_as_waiter();
  void end_driving_as_waiter();
  bool park(Lock& lock, Parker& waiter, const std::optional<TimePoint>& deadline);
  // Runs one task that is due; without one, waits for descriptors until `until` and calls their watchers, but computes
  // no longer than Poller::kMaxDispatch before it returns. After many tasks it looks at the descriptors first.
  // `waiter` is null on the loop thread.
  void run_once(Lock& lock, TimePoint until, Parker* waiter);
  void poll(Lock& lock, TimePoint until, Parker* waiter);
  // Calls the watchers of all descriptors that are ready now.
  void poll_once(Lock& lock, Parker* waiter);
  bool needs_loop_thread() const;
  bool is_gap_too_long() const;

  std::mutex& mutex_;
  TaskQueue& tasks_;
  Poller& poller_;

  Driver driver_ = Driver::none;
  std::thread::id waiter_thread_;  // if a waiter drives
  // When the driver looks at the tasks next, and when the loop thread does while it does not drive. Arming something
  // later needs no wake-up: a deadline that is armed and cancelled, the common case, costs no system call.
  TimePoint planned_ = TimePoint::min();
  TimePoint thread_planned_ = TimePoint::max();
  TimePoint last_driven_;  // when somebody last drove, or when the first result was awaited
  std::condition_variable thread_woken_;
  std::condition_variable waiter_left_;
  std::vector<Parker*> parked_;  // threads waiting for the driver role
  int tasks_in_a_row_ = 0;       // without a look at the descriptors
  int awaited_ = 0;
  int not_driving_ = 0;  // awaited results whose waiter does not drive
  bool started_ = false;
  bool stopping_ = false;
  bool broken_pipes_ = false;
  std::thread thread_;
};

}  // namespace allm
