// Usage of model calls that belong to a run but are not steps of it: what prepare_step spent.
#pragma once

#include <mutex>
#include <utility>

#include "allm/response.hpp"

namespace allm {

// Shared by the passes of a run. Safe from any thread.
class SideUsage {
 public:
  void add(const Usage& usage) {
    const std::lock_guard lock(mutex_);
    usage_ += usage;
  }
  // What was added since the last take.
  Usage take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(usage_, {});
  }

 private:
  std::mutex mutex_;
  Usage usage_;
};

}  // namespace allm
