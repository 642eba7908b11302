// Deadlines from delays of any length.
#pragma once

#include <chrono>

namespace allm {

// The moment `delay` from `start`: the end of time where a clock cannot say it, so that "no limit" may be written as
// the longest duration; `start` itself for a delay below zero.
template <class Duration>
std::chrono::steady_clock::time_point deadline_after(
    Duration delay, std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now()) {
  using TimePoint = std::chrono::steady_clock::time_point;
  if (delay <= Duration::zero()) return start;
  if (delay > std::chrono::duration_cast<Duration>(TimePoint::max() - start)) return TimePoint::max();
  return start + delay;
}

}  // namespace allm
