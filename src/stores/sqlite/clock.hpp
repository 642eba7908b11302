// The clock of SQLite stores: that of this machine, in milliseconds since 1970.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "allm/store.hpp"

namespace allm::sqlite {

inline std::int64_t now_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

inline StoreTime store_time(std::int64_t milliseconds) { return StoreTime(std::chrono::milliseconds(milliseconds)); }

// A time after `now`. A duration that no one would wait for is cut, so that sums do not overflow.
inline std::int64_t later(std::int64_t now, std::chrono::milliseconds duration) {
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 366 * 100);
  return now + std::clamp(duration, std::chrono::milliseconds(0), kLongest).count();
}

}  // namespace allm::sqlite
