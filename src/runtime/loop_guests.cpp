// Who drives the loop.
#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/loop.hpp"
#include "runtime/no_broken_pipes.hpp"
#include "runtime/parker.hpp"

namespace allm {

using Clock = std::chrono::steady_clock;

// A single reader that serves is the only one whom the loop could keep waiting, and it does not while it is away.
bool Loop::needs_host() const { return readers_ > 1 || absent_ > 0; }

bool Loop::is_neglected() const { return readers_ > 0 && Clock::now() - driven_ >= kLook; }

void Loop::host(std::unique_lock<std::mutex>& lock) {
  driver_ = Driver::host;
  const bool neglected = is_neglected();
  // What has arrived comes before what is due: it may be what a deadline waits for.
  if (is_timer_due()) wait(lock, TimePoint::min(), nullptr);
  while (!stopping_ && (needs_host() || is_due() || (neglected && readers_ > 0 && parked_.empty()))) {
    turn(lock, TimePoint::max(), nullptr);
  }
  driver_ = Driver::nobody;
  driven_ = Clock::now();
  if (parked_.empty()) return;
  parked_.front()->wake();
  parked_.erase(parked_.begin());
}

bool Loop::serve(Parker& guest, const std::optional<TimePoint>& deadline) {
  std::unique_lock lock(mutex_);
  if (stopping_ || driver_ != Driver::nobody || needs_host()) return park(lock, guest, deadline);
  return drive_as_guest(lock, guest, deadline);
}

bool Loop::drive_as_guest(std::unique_lock<std::mutex>& lock, Parker& guest, const std::optional<TimePoint>& deadline) {
  std::optional<NoBrokenPipes> guard;
  driver_ = Driver::guest;
  guest_ = std::this_thread::get_id();
  const TimePoint until = deadline.value_or(TimePoint::max());
  if (broken_pipes_) guard.emplace();
  if (is_timer_due()) wait(lock, TimePoint::min(), &guest);
  bool woken = guest.take_wake();
  bool in_time = true;
  while (!woken && in_time && !stopping_ && !needs_host()) {
    // Each time: what is taken below may be the first that needs it.
    if (broken_pipes_ && !guard) guard.emplace();
    turn(lock, until, &guest);
    woken = guest.take_wake();
    in_time = !deadline || Clock::now() < until;
  }
  driver_ = Driver::nobody;
  driven_ = Clock::now();
  if (stopping_) guest_left_.notify_all();
  const bool is_earlier = !heap_.empty() && heap_.front()->deadline_ < host_planned_;
  if (needs_host() || !parked_.empty() || !posted_.empty() || is_earlier) host_woken_.notify_one();
  if (woken || !in_time) return woken;
  return park(lock, guest, deadline);
}

bool Loop::park(std::unique_lock<std::mutex>& lock, Parker& guest, const std::optional<TimePoint>& deadline) {
  parked_.push_back(&guest);
  if (driver_ == Driver::nobody) host_woken_.notify_one();
  if (driver_ == Driver::host && !needs_host()) notify();
  lock.unlock();
  const bool woken = guest.sleep(deadline);
  lock.lock();
  std::erase(parked_, &guest);
  return woken;
}

Loop::Reader::Reader(std::shared_ptr<Loop> loop, bool serving) : loop_(std::move(loop)), serving_(serving) {
  loop_->change_readers(1, serving ? 0 : 1);
}
Loop::Reader::~Reader() { loop_->change_readers(-1, serving_ ? 0 : -1); }

void Loop::Reader::set_serving(bool serving) {
  if (serving == serving_) return;
  serving_ = serving;
  loop_->change_readers(0, serving ? -1 : 1);
}

void Loop::change_readers(int readers, int absent) {
  const std::lock_guard lock(mutex_);
  if (readers_ == 0) driven_ = Clock::now();
  readers_ += readers;
  absent_ += absent;
  if (driver_ == Driver::nobody && needs_host()) host_woken_.notify_one();
}

}  // namespace allm
