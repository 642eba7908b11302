// Parker: how a thread waits for a wake-up. It spins for some microseconds before it sleeps in the kernel, because
// on few cores a hand-off through the kernel costs ten times as much. It does not spin while its waits prove to be
// long, as they are on a network.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "allm/stream.hpp"

namespace allm {

class Loop;
class Poller;

// One thread waits at a time; wake() is safe to call from any thread. A wake-up that comes while nobody waits is kept
// for the next wait; several count as one. Shared: wakers hold it and may outlive the thread that waits.
class Parker : public Waker::Target {
 public:
  void wake() noexcept override;
  // Makes the next wait drive `loop`. Called by the thread that waits.
  void drive_in_next_wait(std::shared_ptr<Loop> loop) { loop_ = std::move(loop); }
  void wait();
  // False if `deadline` came first.
  bool wait_until(std::chrono::steady_clock::time_point deadline);
  // The same without spinning, for waits that are usually long.
  bool sleep_until(std::chrono::steady_clock::time_point deadline);

  // Called by the thread that waits, around Poller::wait(). False if a wake-up has come already; otherwise a wake-up
  // that comes before end_driving() notifies `poller`.
  bool begin_driving(const Poller& poller);
  void end_driving();
  // Consumes the wake-up; false if there was none.
  bool take_wake() { return consume(false); }
  bool sleep(const std::optional<std::chrono::steady_clock::time_point>& deadline);

 private:
  static constexpr std::uint32_t kEmpty = 0;
  static constexpr std::uint32_t kWoken = 1;
  static constexpr std::uint32_t kParked = 2;
  static constexpr std::uint32_t kDriving = 3;

  // Spinning does not shorten a wait longer than kLongWait. After kMaxLongWaits of them in a row the parker does not
  // spin until a wait was shorter.
  static constexpr std::chrono::microseconds kLongWait{200};
  static constexpr int kMaxLongWaits = 3;

  bool wait_for_wake(const std::optional<std::chrono::steady_clock::time_point>& deadline);
  bool consume(bool spinning);

  std::atomic<std::uint32_t> state_{kEmpty};
  // Used only by the thread that waits.
  int long_waits_ = 0;          // in a row
  std::shared_ptr<Loop> loop_;  // to drive in the next wait; shared: its runtime may be destroyed before
  std::mutex driving_mutex_;
  const Poller* driving_ = nullptr;  // while the state may be kDriving
};

// The parker on which the calling thread waits for the source that it polls; null if it does not block.
inline thread_local Parker* current_parker = nullptr;

// The library's access to what the public header hides.
class WakerAccess {
 public:
  static const Waker::Target* target(const Waker& waker) { return waker.target_.get(); }
  // The parker that `waker` wakes, if the calling thread waits on it: it may then drive a loop while it waits.
  static Parker* waiting_parker(const Waker& waker) {
    return current_parker != nullptr && waker.target_.get() == current_parker ? current_parker : nullptr;
  }
};

inline constexpr std::chrono::microseconds kSpinTime{30};

// Calls `ready` repeatedly until it returns true or `time` has passed. Returns whether it returned true.
template <class Ready>
bool spin_until(Ready ready, std::chrono::microseconds time = kSpinTime);

// Whether spinning can help at all: not on a single core.
bool spinning_helps();

inline void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

template <class Ready>
bool spin_until(Ready ready, std::chrono::microseconds time) {
  if (ready()) return true;
  if (!spinning_helps()) return false;
  const auto end = std::chrono::steady_clock::now() + time;
  do {
    // Reading the clock costs as much as a few dozen rounds, so it is read once in a while.
    for (int i = 0; i < 32; ++i) {
      cpu_relax();
      if (ready()) return true;
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

}  // namespace allm
