// How tests wait for other threads: for events, with a watchdog, never for a fixed time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <thread>

namespace allm::testing {

// Longer than any test needs that does not hang, even on a busy machine and with a sanitizer.
inline constexpr std::chrono::seconds kWatchdog{60};

[[noreturn]] inline void give_up(const char* what) {
  std::cerr << "watchdog: " << what << " did not come within " << kWatchdog.count() << " s\n";
  std::abort();
}

// A count that threads raise and wait for. Safe to call from any thread.
class Counter {
 public:
  void add(std::size_t more = 1) {
    const std::lock_guard lock(mutex_);
    count_ += more;
    changed_.notify_all();
  }
  void wait_for(std::size_t count) const {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kWatchdog, [&] { return count_ >= count; })) give_up("a count");
  }
  std::size_t value() const {
    const std::lock_guard lock(mutex_);
    return count_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::size_t count_ = 0;
};

// Opens once; from then on wait() returns at once. Safe to call from any thread.
class Gate {
 public:
  void open() { opened_.add(); }
  void wait() const { opened_.wait_for(1); }
  bool is_open() const { return opened_.value() > 0; }

 private:
  Counter opened_;
};

// The highest number of threads that were inside at once.
class HighWater {
 public:
  void enter() {
    const std::lock_guard lock(mutex_);
    if (++inside_ > highest_) highest_ = inside_;
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    --inside_;
  }
  std::size_t highest() const {
    const std::lock_guard lock(mutex_);
    return highest_;
  }

 private:
  mutable std::mutex mutex_;
  std::size_t inside_ = 0;
  std::size_t highest_ = 0;
};

// Polls until a state is reached that has no event, such as a value of a counter of the runtime.
template <class Ready>
void eventually(Ready ready, const char* what) {
  const auto end = std::chrono::steady_clock::now() + kWatchdog;
  while (!ready()) {
    if (std::chrono::steady_clock::now() > end) give_up(what);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace allm::testing
