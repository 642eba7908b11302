#include "allm/stream.hpp"

#include <functional>
#include <new>
#include <utility>

#include "runtime/blocking.hpp"

namespace allm {
namespace {

class FunctionTarget : public Waker::Target {
 public:
  explicit FunctionTarget(std::function<void()> function) : function_(std::move(function)) {}
  void wake() noexcept override { function_(); }

 private:
  std::function<void()> function_;
};

}  // namespace

Waker::Waker(std::function<void()> function) : target_(std::make_shared<FunctionTarget>(std::move(function))) {}

Poll::Poll(State state) : state_(state) {}
Poll::Poll(Event event) : state_(State::event), event_(std::move(event)) {}
Poll Poll::pending() { return Poll(State::pending); }
Poll Poll::end() { return Poll(State::end); }
Event Poll::take() { return std::move(*event_); }

EventStream::Iterator::Iterator(EventStream* stream) : stream_(stream), current_(stream->wait()) {}
EventStream::Iterator& EventStream::Iterator::operator++() {
  // In place of the event before it: moving each one costs a tenth of what a text delta takes in all.
  current_.~Poll();
  try {
    ::new (static_cast<void*>(&current_)) Poll(stream_->wait());
  } catch (...) {
    ::new (static_cast<void*>(&current_)) Poll(Poll::end());
    throw;
  }
  return *this;
}
void EventStream::Iterator::operator++(int) { ++*this; }
EventStream::Iterator EventStream::begin() { return Iterator(this); }

Poll EventStream::try_next() { return poll(Waker()); }

// One variable is returned on every path where events come often, so that it is built in place and
// an event is not moved once per layer.
Poll EventStream::poll(const Waker& waker) {
  Poll polled = source_ ? source_->poll(waker) : Poll::end();
  // What a finished run held is freed with it, not with the stream.
  if (polled.is_end()) source_.reset();
  return polled;
}

Poll EventStream::wait() {
  ThreadParker waiting;
  Poll polled = poll(waiting.waker());
  while (polled.is_pending()) {
    waiting.parker().wait();
    polled = poll(waiting.waker());
  }
  return polled;
}

std::optional<Event> EventStream::next() {
  Poll polled = wait();
  return polled.has_event() ? std::optional<Event>(polled.take()) : std::nullopt;
}

Poll EventStream::next(std::chrono::steady_clock::time_point deadline) {
  if (!source_) return Poll::end();
  ThreadParker waiting;
  while (true) {
    Poll poll = this->poll(waiting.waker());
    if (!poll.is_pending() || !waiting.parker().wait_until(deadline)) return poll;
  }
}

}  // namespace allm
