// Finds out whether the process supervisor still answers.
#pragma once

#include <chrono>

namespace allm {

// One beat is a message that the supervisor answers. Time is counted in beats that this program really made, so that a
// machine that was suspended, or a program that was stopped, does not count as silence of the supervisor. One thread at
// a time.
class Heartbeat {
 public:
  static constexpr std::chrono::seconds kInterval{1};
  // The supervisor answers within microseconds; on a machine that is so loaded that a process does not run for this
  // long, deadlines have passed long before.
  static constexpr int kMaxUnanswered = 20;

  // A message of the supervisor has arrived, or a new supervisor was started.
  void answered() { unanswered_ = 0; }
  // Whether the supervisor has been silent for too long. If not, another beat is to be sent.
  bool is_silent() { return ++unanswered_ > kMaxUnanswered; }

 private:
  int unanswered_ = 0;
};

}  // namespace allm
