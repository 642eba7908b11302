// The tokens of a run's Cancellation as one thing that sources can poll.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <stop_token>

#include "allm/options.hpp"
#include "allm/stream.hpp"

namespace allm {

// Shared by everything that works on the run. Its callbacks run on whichever thread asks to stop, note how strictly
// and wake the consumer, no more; they may run while the run is being destroyed, which waits for them.
class CancelSignal {
 public:
  // How much of the run is not wanted any more, from mild to strict.
  enum class Level : std::uint8_t { none, after_step, after_tools, now };

  explicit CancelSignal(const Cancellation& tokens);
  CancelSignal(const CancelSignal&) = delete;
  CancelSignal& operator=(const CancelSignal&) = delete;

  // Any thread.
  Level level() const { return level_.load(std::memory_order_acquire); }
  // The same; `waker` is called when it rises. For the consumer's thread, when it is about to wait.
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
  // Last, so that they are gone before what they touch.
  Callback after_step_;
  Callback after_tools_;
  Callback now_;
};

// Whether any of them can ever be asked to stop.
bool can_stop(const Cancellation& tokens);

}  // namespace allm
