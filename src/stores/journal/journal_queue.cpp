#include "stores/journal/journal_queue.hpp"

#include <algorithm>
#include <utility>

namespace allm {

JournalQueue::Position JournalQueue::add(LogEntry fact) {
  const std::lock_guard lock(mutex_);
  entries_.push_back(std::move(fact));
  const Position position = last_.load(std::memory_order_relaxed) + 1;
  last_.store(position, std::memory_order_release);
  return position;
}

// The writer is notified when the mutex is free: it would wake up only to wait for it.
void JournalQueue::add_event(LogEntry event) {
  {
    const std::lock_guard lock(mutex_);
    entries_.push_back(std::move(event));
    if (events_due_) return;
    events_due_ = Clock::now() + kEventDelay;
  }
  changed_.notify_one();
}

void JournalQueue::end(LogEntry fact, Session session) {
  {
    const std::lock_guard lock(mutex_);
    session_ = std::move(session);
    entries_.push_back(std::move(fact));
    last_.fetch_add(1, std::memory_order_release);
    flush_ = true;
  }
  changed_.notify_one();
}

void JournalQueue::flush() {
  if (is_committed(last())) return;
  {
    const std::lock_guard lock(mutex_);
    if (entries_.empty() || flush_) return;
    flush_ = true;
  }
  changed_.notify_one();
}

void JournalQueue::watch(const Waker& waker) {
  const std::lock_guard lock(mutex_);
  waker_ = waker;
}

std::optional<Error> JournalQueue::failure() const {
  if (!failed_.load(std::memory_order_acquire)) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return failure_;
}

bool JournalQueue::may_start() {
  if (failed_.load(std::memory_order_acquire)) return false;
  if (has_lease()) return true;
  const std::lock_guard lock(mutex_);
  needs_lease_ = true;
  changed_.notify_one();
  return false;
}

bool JournalQueue::wait_to_start() {
  std::unique_lock lock(mutex_);
  while (!failure_ && !closed_) {
    if (has_lease()) return true;
    needs_lease_ = true;
    changed_.notify_one();
    may_start_.wait(lock);
  }
  return false;
}

void JournalQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  waker_ = Waker();
  changed_.notify_one();
  may_start_.notify_all();
}

bool JournalQueue::is_closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

bool JournalQueue::is_due(Clock::time_point now) const {
  return flush_ || closed_ || needs_lease_ || (events_due_ && *events_due_ <= now);
}

JournalQueue::Batch JournalQueue::take(Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  Clock::time_point now = Clock::now();
  while (!is_due(now) && now < deadline) {
    changed_.wait_until(lock, events_due_ ? std::min(*events_due_, deadline) : deadline);
    now = Clock::now();
  }
  if (!is_due(now)) return {.last = committed_.load(std::memory_order_relaxed)};
  flush_ = false;
  events_due_.reset();
  return {.entries = std::exchange(entries_, {}),
          .session = std::exchange(session_, std::nullopt),
          .last = last_.load(std::memory_order_relaxed),
          .closed = closed_,
          .needs_lease = std::exchange(needs_lease_, false)};
}

void JournalQueue::committed(Position last) {
  committed_.store(last, std::memory_order_release);
  wake();
}

void JournalQueue::fail(Error error) {
  {
    const std::lock_guard lock(mutex_);
    failure_ = std::move(error);
    failed_.store(true, std::memory_order_release);
    may_start_.notify_all();
  }
  wake();
}

void JournalQueue::set_lease_end(LeaseClock::time_point end) {
  {
    const std::lock_guard lock(mutex_);
    lease_end_.store(end.time_since_epoch().count());
    may_start_.notify_all();
  }
  wake();
}

void JournalQueue::wake() {
  Waker waker;
  {
    const std::lock_guard lock(mutex_);
    waker = waker_;
  }
  waker.wake();
}

}  // namespace allm
