// How streams wait: the members of PulledStream, which are instantiated once for each class of streams.
#pragma once

#include <new>

#include "allm/stream.hpp"

#include "runtime/blocking.hpp"

namespace allm {

// One variable is returned on every path where events come often, so that it is built in place and
// an event is not moved once per layer.
template <class Stream>
Poll PulledStream<Stream>::next() {
  ThreadParker waiting;
  Poll polled = stream().poll(waiting.waker());
  while (polled.is_pending()) {
    waiting.parker().wait();
    polled = stream().poll(waiting.waker());
  }
  return polled;
}

template <class Stream>
Poll PulledStream<Stream>::next(std::chrono::steady_clock::time_point deadline) {
  ThreadParker waiting;
  while (true) {
    Poll polled = stream().poll(waiting.waker());
    if (!polled.is_pending() || !waiting.parker().wait_until(deadline)) return polled;
  }
}

template <class Stream>
Poll PulledStream<Stream>::try_next() {
  return stream().poll(Waker());
}

template <class Stream>
typename PulledStream<Stream>::Iterator& PulledStream<Stream>::Iterator::operator++() {
  // In place of the event before it: moving each one costs a tenth of what a text delta takes in all.
  current_.~Poll();
  try {
    ::new (static_cast<void*>(&current_)) Poll(stream_->next());
  } catch (...) {
    ::new (static_cast<void*>(&current_)) Poll(Poll::end());
    throw;
  }
  return *this;
}

template <class Stream>
typename PulledStream<Stream>::Iterator PulledStream<Stream>::begin() {
  return Iterator(&stream());
}

}  // namespace allm
