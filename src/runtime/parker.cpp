#include "runtime/parker.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace allm {
namespace {

long futex(std::atomic<std::uint32_t>* word, int operation, std::uint32_t value, const timespec* timeout,
           std::uint32_t mask) {
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(word), operation | FUTEX_PRIVATE_FLAG, value, timeout,
                 nullptr, mask);
}

}  // namespace

bool spinning_helps() {
  static const bool helps = std::thread::hardware_concurrency() > 1;
  return helps;
}

void Parker::wake() {
  if (state_.exchange(kWoken, std::memory_order_acq_rel) == kParked) {
    futex(&state_, FUTEX_WAKE, 1, nullptr, 0);
  }
}

bool Parker::consume_by_spinning() {
  const bool woken = spin_until([this] { return state_.load(std::memory_order_acquire) == kWoken; });
  // Read and not just overwritten: a wake-up that came in between is consumed with what it tells of.
  if (woken) state_.exchange(kEmpty, std::memory_order_acquire);
  return woken;
}

bool Parker::sleep(const std::optional<std::chrono::steady_clock::time_point>& deadline) {
  std::uint32_t expected = kEmpty;
  if (!state_.compare_exchange_strong(expected, kParked, std::memory_order_acq_rel)) {
    state_.exchange(kEmpty, std::memory_order_acquire);
    return true;
  }
  timespec absolute{};
  if (deadline) {
    // FUTEX_WAIT_BITSET takes an absolute time of the monotonic clock, which is what steady_clock is
    // on Linux, so a spurious return does not prolong the wait.
    const auto since = std::max<std::int64_t>(
        0, std::chrono::duration_cast<std::chrono::nanoseconds>(deadline->time_since_epoch()).count());
    absolute.tv_sec = static_cast<time_t>(since / 1'000'000'000);
    absolute.tv_nsec = static_cast<long>(since % 1'000'000'000);
  }
  while (state_.load(std::memory_order_acquire) == kParked) {
    const long result =
        futex(&state_, FUTEX_WAIT_BITSET, kParked, deadline ? &absolute : nullptr, FUTEX_BITSET_MATCH_ANY);
    if (result != 0 && errno == ETIMEDOUT) break;
  }
  return state_.exchange(kEmpty, std::memory_order_acq_rel) == kWoken;
}

void Parker::wait() {
  if (!consume_by_spinning()) sleep(std::nullopt);
}

bool Parker::wait_until(std::chrono::steady_clock::time_point deadline) {
  return consume_by_spinning() || sleep(deadline);
}

bool Parker::sleep_until(std::chrono::steady_clock::time_point deadline) { return sleep(deadline); }

}  // namespace allm
