// The clock by which a run judges its own lease.
#pragma once

#include <algorithm>
#include <chrono>
#include <ctime>

namespace allm {

// Goes on while the process is stopped and while the machine sleeps.
struct LeaseClock {
  // NOLINTBEGIN(readability-identifier-naming): the names of a standard clock
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<LeaseClock>;
  static constexpr bool is_steady = true;
  // NOLINTEND(readability-identifier-naming)

  static time_point now() noexcept {
    timespec time{};
    ::clock_gettime(CLOCK_BOOTTIME, &time);
    return time_point(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
  }
};

// Until when a lease is certainly valid that was asked for at `asked_at`: the database counts its duration from a later
// moment on.
inline LeaseClock::time_point lease_end(LeaseClock::time_point asked_at, std::chrono::milliseconds duration) {
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 366 * 100);
  return asked_at + std::min(duration, kLongest);
}

}  // namespace allm
