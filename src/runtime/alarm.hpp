// An alarm: a timer that a source can poll.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>

#include "allm/stream.hpp"

#include "runtime/deadline.hpp"
#include "runtime/loop.hpp"
#include "runtime/runtime_impl.hpp"

namespace allm {

// One thread at a time, except for the loop that fires it. Destroying it cancels the timer.
class Alarm {
 public:
  Alarm(const Runtime& runtime, std::chrono::milliseconds delay)
      : task_(std::make_shared<Task>()), timer_(TimerAccess::timer(task_)) {
    RuntimeAccess::impl(runtime).loop->arm(task_, deadline_after(delay));
  }

  // Whether the delay has passed. If not, `waker` is called when it has.
  bool poll(const Waker& waker) {
    const std::lock_guard lock(task_->mutex);
    if (!task_->fired) task_->waker = waker;
    return task_->fired;
  }

 private:
  // Shared: the loop holds it while it is armed.
  struct Task : LoopTask {
    void fire() noexcept override {
      Waker woken;
      {
        const std::lock_guard lock(mutex);
        fired = true;
        std::swap(woken, waker);
      }
      woken.wake();
    }
    std::mutex mutex;
    bool fired = false;
    Waker waker;
  };
  std::shared_ptr<Task> task_;
  Timer timer_;
};

}  // namespace allm
