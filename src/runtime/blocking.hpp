// Waiting for a source on the calling thread.
#pragma once

#include <memory>
#include <utility>

#include "allm/stream.hpp"

#include "data/immortal.hpp"
#include "runtime/fork_guard.hpp"
#include "runtime/parker.hpp"

namespace allm {

// The parker on which the calling thread waits for the source that it polls. Each thread has one, made at its first
// use. A callback that reads another stream during a poll gets a second one, so that neither wait consumes the other's
// wake-up.
class ThreadParker {
 public:
  ThreadParker() : outer_(std::exchange(current_parker, nullptr)) {
    if (outer_ != nullptr) nested_ = std::make_unique<Pair>();
    pair_ = nested_ ? nested_.get() : &own();
    current_parker = pair_->parker.get();
  }
  ThreadParker(const ThreadParker&) = delete;
  ThreadParker& operator=(const ThreadParker&) = delete;
  ~ThreadParker() { current_parker = outer_; }
  const Waker& waker() const { return pair_->waker; }
  Parker& parker() { return *pair_->parker; }

 private:
  struct Pair {
    // Shared: sources keep copies of the waker, which may outlive the thread.
    std::shared_ptr<Parker> parker = std::make_shared<Parker>();
    Waker waker{parker};
  };
  static Pair& own() { return thread_instance<Pair>(); }
  Parker* outer_;
  std::unique_ptr<Pair> nested_;
  Pair* pair_ = nullptr;
};

// Reads a source to its end, blocking, and hands every event to `consume`. Returns false if this process was forked
// meanwhile, by a callback: the source then belongs to the parent process and must not be destroyed.
template <class Consume>
bool drain(EventSource& source, Consume consume) {
  ThreadParker waiting;
  const ForkMark mark;
  while (true) {
    Poll polled = source.poll(waiting.waker());
    if (mark.is_of_parent_process()) {
      waiting.parker().drive_in_next_wait(nullptr);
      return false;
    }
    if (polled.is_end()) return true;
    if (polled.has_event()) {
      consume(polled.event());
    } else {
      waiting.parker().wait();
    }
  }
}

}  // namespace allm
