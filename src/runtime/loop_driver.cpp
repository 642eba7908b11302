#include "runtime/loop_driver.hpp"

#include <algorithm>
#include <csignal>
#include <pthread.h>
#include <system_error>
#include <utility>

#include "runtime/no_broken_pipes.hpp"
#include "runtime/parker.hpp"

namespace allm {

using Clock = std::chrono::steady_clock;

// If the only awaited result has a waiter that drives, nobody needs the loop while that waiter does something else.
bool LoopDriver::needs_loop_thread() const { return awaited_ > 1 || not_driving_ > 0; }

bool LoopDriver::is_gap_too_long() const { return awaited_ > 0 && Clock::now() - last_driven_ >= kMaxGap; }

bool LoopDriver::start_thread(std::shared_ptr<void> owner) {
  try {
    thread_ = std::thread([this, kept = std::move(owner)] { run(); });
    started_ = true;
    return true;
  } catch (const std::system_error&) {
    return false;  // the next task or run tries again
  }
}

void LoopDriver::look_by(TimePoint time) {
  TimePoint& planned = has_driver() ? planned_ : thread_planned_;
  if (time >= planned) return;
  planned = time;
  if (has_driver()) {
    poller_.notify();
  } else {
    thread_woken_.notify_one();
  }
}

void LoopDriver::stop(Lock& lock) {
  stopping_ = true;
  poller_.notify();
  thread_woken_.notify_one();
  waiter_left_.wait(lock, [this] { return driver_ != Driver::waiter || waiter_thread_ == std::this_thread::get_id(); });
  lock.unlock();
  if (!thread_.joinable()) return;
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

void LoopDriver::change_awaited(int awaited, int not_driving) {
  const std::lock_guard lock(mutex_);
  if (awaited_ == 0) last_driven_ = Clock::now();
  awaited_ += awaited;
  not_driving_ += not_driving;
  if (!has_driver() && needs_loop_thread()) thread_woken_.notify_one();
}

void LoopDriver::run() {
  pthread_setname_np(pthread_self(), "allm-loop");
  // Signals are for the program's own threads.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);

  Lock lock(mutex_);
  while (!stopping_) {
    const bool needed = needs_loop_thread() || tasks_.is_due() || is_gap_too_long() || !parked_.empty();
    if (!has_driver() && needed) {
      drive_as_loop_thread(lock);
    } else {
      sleep_until_needed(lock);
    }
  }
}

void LoopDriver::sleep_until_needed(Lock& lock) {
  thread_planned_ = driver_ == Driver::waiter ? TimePoint::max() : tasks_.next_deadline();
  if (awaited_ > 0) thread_planned_ = std::min(thread_planned_, Clock::now() + kMaxGap);
  if (thread_planned_ == TimePoint::max()) {
    thread_woken_.wait(lock);
  } else {
    thread_woken_.wait_until(lock, TimePoint(thread_planned_));
  }
  thread_planned_ = TimePoint::min();
}

void LoopDriver::poll_once(Lock& lock, Parker* waiter) {
  do {
    poll(lock, TimePoint::min(), waiter);
  } while (poller_.has_ready() && !stopping_);
}

void LoopDriver::drive_as_loop_thread(Lock& lock) {
  driver_ = Driver::loop_thread;
  const bool fills_gap = is_gap_too_long();
  // Descriptors before timers: the response that a due deadline is about may have arrived.
  if (tasks_.is_timer_due()) poll_once(lock, nullptr);
  while (!stopping_ && (needs_loop_thread() || tasks_.is_due() || (fills_gap && awaited_ > 0 && parked_.empty()))) {
    run_once(lock, TimePoint::max(), nullptr);
  }
  poller_.forget_ready();
  driver_ = Driver::none;
  last_driven_ = Clock::now();
  if (parked_.empty()) return;
  parked_.front()->wake();
  parked_.erase(parked_.begin());
}

bool LoopDriver::wait(Parker& waiter, const std::optional<TimePoint>& deadline) {
  Lock lock(mutex_);
  if (stopping_ || has_driver() || needs_loop_thread()) return park(lock, waiter, deadline);
  return drive_as_waiter(lock, waiter, deadline);
}

bool LoopDriver::drive_as_waiter(Lock& lock, Parker& waiter, const std::optional<TimePoint>& deadline) {
  std::optional<NoBrokenPipes> guard;
  if (broken_pipes_) guard.emplace();
  begin_driving_as_waiter();
  const TimePoint until = deadline.value_or(TimePoint::max());
  if (tasks_.is_timer_due()) poll_once(lock, &waiter);
  bool woken = waiter.take_wake();
  bool in_time = true;
  while (!woken && in_time && !stopping_ && !needs_loop_thread()) {
    // Checked in every round: a task may have called expect_broken_pipes().
    if (broken_pipes_ && !guard) guard.emplace();
    run_once(lock, until, &waiter);
    woken = waiter.take_wake();
    in_time = !deadline || Clock::now() < until;
  }
  end_driving_as_waiter();
  if (woken || !in_time) return woken;
  return park(lock, waiter, deadline);
}

void LoopDriver::begin_driving_as_waiter() {
  driver_ = Driver::waiter;
  waiter_thread_ = std::this_thread::get_id();
}

void LoopDriver::end_driving_as_waiter() {
  poller_.forget_ready();
  driver_ = Driver::none;
  last_driven_ = Clock::now();
  if (stopping_) waiter_left_.notify_all();
  const bool is_earlier = tasks_.next_deadline() < thread_planned_;
  if (needs_loop_thread() || !parked_.empty() || tasks_.has_posted() || is_earlier) thread_woken_.notify_one();
}

bool LoopDriver::park(Lock& lock, Parker& waiter, const std::optional<TimePoint>& deadline) {
  parked_.push_back(&waiter);
  if (!has_driver()) thread_woken_.notify_one();
  if (driver_ == Driver::loop_thread && !needs_loop_thread()) poller_.notify();
  lock.unlock();
  const bool woken = waiter.sleep(deadline);
  lock.lock();
  std::erase(parked_, &waiter);
  return woken;
}

void LoopDriver::run_once(Lock& lock, TimePoint until, Parker* waiter) {
  // Tasks can follow one another without end, so descriptors get their turn now and then.
  constexpr int kTasksInARow = 16;
  if (!tasks_.is_due()) return poll(lock, until, waiter);
  if (++tasks_in_a_row_ > kTasksInARow) return poll(lock, TimePoint::min(), waiter);
  // One at a time, so that a callback can still cancel what is due after it.
  std::shared_ptr<LoopTask> due = tasks_.take_due();
  lock.unlock();
  due->fire();
  due.reset();
  lock.lock();
}

void LoopDriver::poll(Lock& lock, TimePoint until, Parker* waiter) {
  until = std::min(until, tasks_.next_deadline());
  planned_ = until;
  tasks_in_a_row_ = 0;
  lock.unlock();
  if (waiter == nullptr || waiter->begin_driving(poller_)) poller_.wait(until);
  if (waiter != nullptr) waiter->end_driving();
  poller_.dispatch();
  lock.lock();
  planned_ = TimePoint::min();
}

}  // namespace allm
