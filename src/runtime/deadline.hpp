// Deadlines from delays of any length.
#pragma once

#include <chrono>

namespace allm {

// `start` plus `delay`, or time_point::max() where the sum would overflow, so that "no limit" may be written as the
// longest duration. A negative delay gives `start`.
template <class Duration>
std::chrono::steady_clock::time_point deadline_after(
    Duration delay, std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now()) {
  using TimePoint = std::chrono::steady_clock::time_point;
  if (delay <= Duration::zero()) return start;
  if (delay > std::chrono::duration_cast<Duration>(TimePoint::max() - start)) return TimePoint::max();
  return start + delay;
}

}  // namespace allm
