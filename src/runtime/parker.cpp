#include "runtime/parker.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "runtime/loop.hpp"
#include "runtime/poller.hpp"

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

void Parker::wake() noexcept {
  const std::uint32_t before = state_.exchange(kWoken, std::memory_order_acq_rel);
  if (before == kParked) {
    futex(&state_, FUTEX_WAKE, 1, nullptr, 0);
  } else if (before == kDriving) {
    const std::lock_guard lock(driving_mutex_);
    if (driving_ != nullptr) driving_->notify();
  }
}

bool Parker::begin_driving(const Poller& poller) {
  {
    const std::lock_guard lock(driving_mutex_);
    driving_ = &poller;
  }
  std::uint32_t expected = kEmpty;
  return state_.compare_exchange_strong(expected, kDriving, std::memory_order_acq_rel);
}

void Parker::end_driving() {
  std::uint32_t expected = kDriving;
  state_.compare_exchange_strong(expected, kEmpty, std::memory_order_acq_rel);
  const std::lock_guard lock(driving_mutex_);
  driving_ = nullptr;
}

bool Parker::consume(bool spinning) {
  const auto is_woken = [this] { return state_.load(std::memory_order_acquire) == kWoken; };
  const bool woken = spinning ? spin_until(is_woken) : is_woken();
  // An exchange and not a store: it synchronises with a wake-up that came in between and is consumed with this one.
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

bool Parker::wait_for_wake(const std::optional<std::chrono::steady_clock::time_point>& deadline) {
  if (const std::shared_ptr<Loop> loop = std::exchange(loop_, nullptr)) return loop->wait(*this, deadline);
  if (consume(false)) return true;
  const auto begin = std::chrono::steady_clock::now();
  const bool woken = consume(long_waits_ < kMaxLongWaits) || sleep(deadline);
  const bool was_long = std::chrono::steady_clock::now() - begin > kLongWait;
  long_waits_ = was_long ? std::min(long_waits_ + 1, kMaxLongWaits) : 0;
  return woken;
}

void Parker::wait() { wait_for_wake(std::nullopt); }

bool Parker::wait_until(std::chrono::steady_clock::time_point deadline) { return wait_for_wake(deadline); }

bool Parker::sleep_until(std::chrono::steady_clock::time_point deadline) { return sleep(deadline); }

}  // namespace allm
