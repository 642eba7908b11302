// Tells threads that wait that a store has changed: at once if this object's store made the change, and within a few
// milliseconds if another process did. Safe to call from any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "stores/sqlite/pool.hpp"

namespace allm::sqlite {

class Changes {
 public:
  explicit Changes(Pool& pool) : pool_(pool) {}

  // The number of changes so far. A thread reads it, looks at the store, and waits for another number.
  Result<std::uint64_t> count();
  // This store has made a change.
  void announce();
  // Waits until count() differs from `seen`, or until the time.
  Status wait(std::uint64_t seen, std::chrono::steady_clock::time_point until);

 private:
  Status poll(std::chrono::steady_clock::time_point now);

  Pool& pool_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t count_ = 0;
  std::int64_t data_version_ = 0;
  std::chrono::steady_clock::time_point polled_at_ = {};
};

}  // namespace allm::sqlite
