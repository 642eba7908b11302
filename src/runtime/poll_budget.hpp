// Limits how many events one poll of a source swallows.
#pragma once

#include "allm/stream.hpp"

namespace allm {

// One for each poll. Sources that drop or collect events instead of delivering them spend it: a source that always has
// an event must not keep the consumer's thread from its deadlines, its cancellation and its other streams.
class PollBudget {
 public:
  // Whether the poll may go on. If not, `waker` was called, and the poll must return pending.
  bool spend(const Waker& waker) {
    if (++spent_ < kEvents) return true;
    waker.wake();
    return false;
  }

 private:
  static constexpr unsigned kEvents = 512;
  unsigned spent_ = 0;
};

}  // namespace allm
