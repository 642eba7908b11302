// Whether something has come so soon, several times in a row, that it is worth staying awake for the next time.
#pragma once

#include <algorithm>
#include <chrono>

namespace allm {

// One thread at a time.
class Pace {
 public:
  // `soon`: how long one stays awake, and so how long it may take. Beyond it sleeping costs little in comparison, and
  // staying awake much.
  explicit constexpr Pace(std::chrono::microseconds soon) : soon_(soon) {}

  void note(std::chrono::nanoseconds took) { in_a_row_ = took <= soon_ ? std::min(in_a_row_ + 1, kEnough) : 0; }
  // How long to stay awake; zero unless it is worth it.
  std::chrono::microseconds patience() const {
    return in_a_row_ == kEnough ? soon_ : std::chrono::microseconds::zero();
  }

 private:
  static constexpr int kEnough = 4;
  std::chrono::microseconds soon_;
  int in_a_row_ = 0;
};

}  // namespace allm
