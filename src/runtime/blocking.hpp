// Waiting for a source on the calling thread.
#pragma once

#include <memory>
#include <utility>

#include "allm/stream.hpp"

#include "runtime/parker.hpp"

namespace allm {

// What the calling thread waits on. A thread has one, made at its first use; a callback that reads
// another stream while this one is being polled gets one of its own, so that neither takes the
// other's wake-up.
class ThreadParker {
 public:
  ThreadParker() : own_(own()), nested_(std::exchange(own_.busy, true)) {
    if (nested_) other_ = std::make_unique<Waiting>();
  }
  ThreadParker(const ThreadParker&) = delete;
  ThreadParker& operator=(const ThreadParker&) = delete;
  ~ThreadParker() {
    if (!nested_) own_.busy = false;
  }
  const Waker& waker() const { return nested_ ? other_->waker : own_.waker; }
  Parker& parker() { return nested_ ? *other_->parker : *own_.parker; }

 private:
  struct Waiting {
    std::shared_ptr<Parker> parker = std::make_shared<Parker>();
    Waker waker{parker};
    bool busy = false;
  };
  static Waiting& own() {
    thread_local Waiting waiting;
    return waiting;
  }
  Waiting& own_;
  bool nested_;
  std::unique_ptr<Waiting> other_;
};

// Reads a source to its end, blocking, and hands every event to `consume`.
template <class Consume>
void drain(EventSource& source, Consume consume) {
  ThreadParker waiting;
  while (true) {
    Poll polled = source.poll(waiting.waker());
    if (polled.is_end()) return;
    if (polled.has_event()) {
      consume(polled.event());
    } else {
      waiting.parker().wait();
    }
  }
}

}  // namespace allm
