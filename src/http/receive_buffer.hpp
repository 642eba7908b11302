// What the loop has received of a response and its consumer has not yet taken.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "http/transfer.hpp"

namespace allm {

// Safe to call from any thread: the thread that drives the loop puts, the consumer takes.
class ReceiveBuffer {
 public:
  explicit ReceiveBuffer(std::size_t max_buffered) : max_buffered_(max_buffered) {}

  // What was put reaches the consumer with the next wake(), or when it polls before that.
  void put_head(HttpResponseHead head) {
    const std::lock_guard lock(mutex_);
    head_ = std::move(head);
  }

  // False if the buffer is now full: the caller then pauses the transfer until take() sets `resume`.
  bool put_bytes(std::string_view bytes) {
    const std::lock_guard lock(mutex_);
    bytes_.append(bytes);
    if (bytes_.size() < max_buffered_) return true;
    paused_ = true;
    return false;
  }

  void wake() {
    Waker woken;
    {
      const std::lock_guard lock(mutex_);
      woken = std::exchange(waker_, Waker());
    }
    woken.wake();
  }

  // Wakes the consumer.
  void put_end(std::optional<HttpError> error) {
    Waker woken;
    {
      const std::lock_guard lock(mutex_);
      if (ended_) return;
      ended_ = true;
      error_ = std::move(error);
      woken = std::exchange(waker_, Waker());
    }
    woken.wake();
  }

  struct Taken {
    HttpTransfer::Progress progress;
    bool resume = false;  // the transfer was paused and may continue
  };
  Taken take(const Waker& waker, std::string spare) {
    const std::lock_guard lock(mutex_);
    if (head_) return {*std::exchange(head_, std::nullopt)};
    if (!bytes_.empty()) {
      spare.clear();
      std::swap(spare, bytes_);
      return {std::move(spare), std::exchange(paused_, false)};
    }
    if (ended_) {
      if (error_) return {*error_};
      return {HttpTransfer::Ended()};
    }
    waker_ = waker;
    return {HttpTransfer::Pending()};
  }

  bool ended() const {
    const std::lock_guard lock(mutex_);
    return ended_;
  }

  bool paused() const {
    const std::lock_guard lock(mutex_);
    return paused_;
  }

 private:
  const std::size_t max_buffered_;
  mutable std::mutex mutex_;
  std::optional<HttpResponseHead> head_;
  std::string bytes_;
  std::optional<HttpError> error_;
  bool ended_ = false;
  bool paused_ = false;
  Waker waker_;
};

}  // namespace allm
