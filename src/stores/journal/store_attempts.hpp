// What the files of StoredRun share.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

#include "allm/error.hpp"

#include "stores/journal/journal_queue.hpp"

namespace allm {

using StoreReason = StoreError::Reason;

inline bool is_store_error(const Error& error, StoreReason reason) { return error.is<StoreError>(reason); }

// The pauses between attempts while the store is unavailable.
class Attempts {
 public:
  using Clock = JournalQueue::Clock;
  explicit Attempts(std::chrono::milliseconds most) : give_up_at_(Clock::now() + most) {}
  bool are_over() const { return Clock::now() >= give_up_at_; }
  void pause() {
    std::this_thread::sleep_for(pause_);
    pause_ = std::min(pause_ * 2, std::chrono::milliseconds(1'000));
  }

 private:
  const Clock::time_point give_up_at_;
  std::chrono::milliseconds pause_{20};
};

}  // namespace allm
