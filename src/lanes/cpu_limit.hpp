// The limit on the CPU time of a call in a worker.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <sys/resource.h>

namespace allm {

// The CPU time of this process, limited for each call. A process without privileges cannot raise a hard limit that it
// has lowered, so a worker is replaced when the next call might not get its time. All calls of a worker have the same
// limit (WorkerPool::Worker::fits). One thread at a time.
class CpuLimit {
 public:
  // Limits the process to what it has used and `time`.
  void begin_call(std::chrono::seconds time) {
    time_ = static_cast<rlim_t>(std::clamp<std::int64_t>(time.count(), 1, kMaxSeconds));
    rlimit limit{};
    getrlimit(RLIMIT_CPU, &limit);
    // SIGXCPU names the reason; SIGKILL follows for a process that ignores it.
    limit.rlim_max = std::min(limit.rlim_max, needed() + 1);
    limit.rlim_cur = std::min(limit.rlim_max, needed());
    setrlimit(RLIMIT_CPU, &limit);
    hard_ = limit.rlim_max;
  }

  // Whether the process can give another call the same time.
  bool allows_another_call() const { return !time_ || needed() < hard_; }

 private:
  static constexpr std::int64_t kMaxSeconds = std::int64_t{1} << 31U;

  // What the process has used, and the time of one call. The kernel counts whole seconds.
  rlim_t needed() const {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto microseconds = used.ru_utime.tv_usec + used.ru_stime.tv_usec;
    const auto seconds = used.ru_utime.tv_sec + used.ru_stime.tv_sec + microseconds / 1'000'000;
    return static_cast<rlim_t>(seconds) + 1 + time_.value_or(0);
  }

  std::optional<rlim_t> time_;
  rlim_t hard_ = RLIM_INFINITY;
};

}  // namespace allm
