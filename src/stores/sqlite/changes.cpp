#include "stores/sqlite/changes.hpp"

#include <algorithm>

namespace allm::sqlite {
namespace {

// How often waiting threads look for changes of other processes, which costs a few microseconds each time.
constexpr std::chrono::milliseconds kPollInterval{5};

}  // namespace

Result<std::uint64_t> Changes::count() {
  const std::lock_guard lock(mutex_);
  if (Status polled = poll(std::chrono::steady_clock::now()); !polled) return std::unexpected(polled.error());
  return count_;
}

void Changes::announce() {
  const std::lock_guard lock(mutex_);
  ++count_;
  changed_.notify_all();
}

Status Changes::wait(std::uint64_t seen, std::chrono::steady_clock::time_point until) {
  std::unique_lock lock(mutex_);
  while (count_ == seen) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= until) return {};
    // One of the waiting threads polls for all.
    if (now - polled_at_ >= kPollInterval) {
      if (Status polled = poll(now); !polled) return polled;
      continue;
    }
    changed_.wait_until(lock, std::min(until, polled_at_ + kPollInterval));
  }
  return {};
}

Status Changes::poll(std::chrono::steady_clock::time_point now) {
  polled_at_ = now;
  const Result<std::int64_t> version = pool_.data_version();
  if (!version) return std::unexpected(version.error());
  if (*version == data_version_) return {};
  data_version_ = *version;
  ++count_;
  changed_.notify_all();
  return {};
}

}  // namespace allm::sqlite
