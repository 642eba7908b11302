#include "engine/cancel_signal.hpp"

#include <utility>

namespace allm {

CancelSignal::CancelSignal(const Cancellation& tokens)
    : after_step_(tokens.after_step, Raise{this, Level::after_step}),
      after_tools_(tokens.after_tools, Raise{this, Level::after_tools}),
      now_(tokens.now, Raise{this, Level::now}) {}

CancelSignal::Level CancelSignal::watch(const Waker& waker) {
  const std::lock_guard lock(mutex_);
  waker_ = waker;
  return level();
}

void CancelSignal::raise(Level level) noexcept {
  Waker woken;
  {
    const std::lock_guard lock(mutex_);
    if (level <= level_.load(std::memory_order_relaxed)) return;
    level_.store(level, std::memory_order_release);
    std::swap(woken, waker_);
  }
  // Not under the lock: a waker is the user's code.
  woken.wake();
}

bool can_stop(const Cancellation& tokens) {
  return tokens.now.stop_possible() || tokens.after_tools.stop_possible() || tokens.after_step.stop_possible();
}

}  // namespace allm
