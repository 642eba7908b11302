// Waiting for a source on the calling thread.
#pragma once

#include <memory>

#include "allm/stream.hpp"
#include "runtime/parker.hpp"

namespace allm {

// A thread's parker, made once per thread. A callback that reads another stream while this one is
// being polled gets one of its own, so that neither takes the other's wake-up.
class ThreadParker {
 public:
  ThreadParker() : nested_(busy()), parker_(nested_ ? std::make_shared<Parker>() : own()), waker_(parker_) {
    if (!nested_) busy() = true;
  }
  ThreadParker(const ThreadParker&) = delete;
  ThreadParker& operator=(const ThreadParker&) = delete;
  ~ThreadParker() {
    if (!nested_) busy() = false;
  }
  const Waker& waker() const { return waker_; }
  Parker& parker() { return *parker_; }

 private:
  static bool& busy() {
    thread_local bool busy = false;
    return busy;
  }
  static const std::shared_ptr<Parker>& own() {
    thread_local const std::shared_ptr<Parker> parker = std::make_shared<Parker>();
    return parker;
  }
  bool nested_;
  std::shared_ptr<Parker> parker_;
  Waker waker_;
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
