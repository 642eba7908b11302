// Tasks of the loop: timers, and tasks that were posted.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "allm/runtime.hpp"

namespace allm {

class Loop;

// Base class of tasks. Shared: the loop holds a task while it is armed or posted, and its Timer holds it to cancel it.
class Timer::Task {
 public:
  virtual ~Task() = default;
  // Called once by the thread that drives the loop, unless cancelled before. Must return quickly.
  virtual void fire() noexcept = 0;

 private:
  friend class Loop;
  friend class Timer;
  friend class TaskQueue;
  static constexpr std::size_t kNotArmed = static_cast<std::size_t>(-1);
  std::chrono::steady_clock::time_point deadline_;
  std::size_t heap_index_ = kNotArmed;
  std::weak_ptr<Loop> loop_;
};

// The library's access to what the public header hides.
class TimerAccess {
 public:
  using Task = Timer::Task;
  static Timer timer(std::shared_ptr<Task> task) { return Timer(std::move(task)); }
};
using LoopTask = TimerAccess::Task;

// Armed and posted tasks. Guarded by the loop's mutex.
class TaskQueue {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  void arm(std::shared_ptr<LoopTask> task, TimePoint deadline);
  void post(std::shared_ptr<LoopTask> task) { posted_.push_back(std::move(task)); }
  // Returns the task; null if it was not armed.
  std::shared_ptr<LoopTask> cancel(LoopTask& task);

  bool has_posted() const { return !posted_.empty(); }
  bool is_timer_due() const;
  bool is_due() const { return has_posted() || is_timer_due(); }
  // TimePoint::max() if nothing is armed.
  TimePoint next_deadline() const { return heap_.empty() ? TimePoint::max() : heap_.front()->deadline_; }
  // Only when is_due(): posted tasks first, in their order, then timers by deadline. A timer that is due goes first
  // after a number of posted tasks.
  std::shared_ptr<LoopTask> take_due();
  // Removes and returns all tasks.
  TaskQueue take_all();

 private:
  std::shared_ptr<LoopTask> remove(std::size_t index);
  void sift_up(std::size_t index);
  void sift_down(std::size_t index);
  void place(std::size_t index, std::shared_ptr<LoopTask> task);

  std::vector<std::shared_ptr<LoopTask>> heap_;  // binary heap, earliest first
  std::deque<std::shared_ptr<LoopTask>> posted_;
  int posted_in_a_row_ = 0;
};

}  // namespace allm
