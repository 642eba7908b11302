// Combines the stop tokens of a run's Cancellation into one level that sources can poll.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <stop_token>

#include "allm/options.hpp"
#include "allm/stream.hpp"

namespace allm {

// Shared by everything that works on the run. Its stop callbacks run on the thread that requests the stop; they only
// raise the level and wake the consumer. The destructor waits for callbacks that are running.
class CancelSignal {
 public:
  // How strictly the run is cancelled, from mild to strict.
  enum class Level : std::uint8_t { none, after_step, after_tools, now };

  explicit CancelSignal(const Cancellation& tokens);
  CancelSignal(const CancelSignal&) = delete;
  CancelSignal& operator=(const CancelSignal&) = delete;

  // Safe to call from any thread.
  Level level() const { return level_.load(std::memory_order_acquire); }
  // The level; `waker` is called when it rises. Only for the consumer's thread, when it is about to wait.
  Level watch(const Waker& waker);

 private:
  struct Raise {
    CancelSignal* signal;
    Level level;
    void operator()() const noexcept { signal->raise(level); }
  };
  using Callback = std::stop_callback<Raise>;
  void raise(Level level) noexcept;

  std::atomic<Level> level_{Level::none};
  std::mutex mutex_;
  Waker waker_;
  // Last members, so that they are destroyed before the members that they use.
  Callback after_step_;
  Callback after_tools_;
  Callback now_;
};

// Whether any of the tokens can ever request a stop.
bool can_stop(const Cancellation& tokens);

}  // namespace allm
