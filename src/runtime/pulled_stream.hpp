// The blocking members of PulledStream. Each class of streams instantiates them in one .cpp file.
#pragma once

#include <new>

#include "allm/stream.hpp"

#include "runtime/blocking.hpp"

namespace allm {

// Every path returns the same variable, so that the event is built in place and not moved once per layer.
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
  // Replaces the previous event in place: a move would be a tenth of the whole cost of a text delta.
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
