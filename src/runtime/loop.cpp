#include "runtime/loop.hpp"

#include <utility>

namespace allm {

bool Loop::start_thread() {
  if (mark_.is_of_parent_process()) return false;
  const std::lock_guard lock(mutex_);
  return driver_.is_stopping() || start_thread_once();
}

void Loop::arm(std::shared_ptr<LoopTask> task, TimePoint deadline) {
  if (mark_.is_of_parent_process()) return;
  const std::lock_guard lock(mutex_);
  if (driver_.is_stopping()) return;
  task->loop_ = weak_from_this();
  tasks_.arm(std::move(task), deadline);
  start_thread_once();
  driver_.look_by(deadline);
}

bool Loop::cancel(LoopTask& task) {
  if (mark_.is_of_parent_process()) return false;
  std::shared_ptr<LoopTask> removed;  // released after the lock: its destructor is the owner's code
  const std::lock_guard lock(mutex_);
  removed = tasks_.cancel(task);
  return removed != nullptr;
}

void Loop::post(std::shared_ptr<LoopTask> task) { post(std::move(task), false); }
void Loop::post_deferred(std::shared_ptr<LoopTask> task) { post(std::move(task), true); }

void Loop::post(std::shared_ptr<LoopTask> task, bool deferred) {
  if (mark_.is_of_parent_process()) return;
  const std::lock_guard lock(mutex_);
  if (driver_.is_stopping()) return;
  tasks_.post(std::move(task));
  start_thread_once();
  const bool can_wait = deferred && !driver_.has_driver();
  driver_.look_by(can_wait ? std::chrono::steady_clock::now() + LoopDriver::kMaxGap : TimePoint::min());
}

bool Loop::start_thread_once() { return driver_.has_thread() || driver_.start_thread(shared_from_this()); }

void Loop::stop() {
  if (mark_.is_of_parent_process()) return;
  std::unique_lock lock(mutex_);
  const TaskQueue dropped = tasks_.take_all();  // released after the lock, which stop() releases
  driver_.stop(lock);
}

void Loop::expect_broken_pipes() {
  if (mark_.is_of_parent_process()) return;
  const std::lock_guard lock(mutex_);
  driver_.expect_broken_pipes();
}

Loop::Awaited::Awaited(std::shared_ptr<Loop> loop, bool waiter_drives)
    : loop_(std::move(loop)), waiter_drives_(waiter_drives) {
  loop_->change_awaited(1, waiter_drives ? 0 : 1);
}
Loop::Awaited::~Awaited() { loop_->change_awaited(-1, waiter_drives_ ? 0 : -1); }

void Loop::Awaited::set_waiter_drives(bool waiter_drives) {
  if (waiter_drives == waiter_drives_) return;
  waiter_drives_ = waiter_drives;
  loop_->change_awaited(0, waiter_drives ? -1 : 1);
}

void Loop::change_awaited(int awaited, int not_driving) {
  if (!mark_.is_of_parent_process()) driver_.change_awaited(awaited, not_driving);
}

}  // namespace allm
