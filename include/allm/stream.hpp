// Streams: lazy, pulled sources of events.
//
// Nothing happens before the first poll, a slow consumer slows the producer, and dropping a stream
// cancels what it was doing. A stream ties to any event loop through a Waker, or blocks in next().
#pragma once

#include <chrono>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "allm/event.hpp"

namespace allm {

// Tells a consumer that polling again is worth it. Copies wake the same consumer. wake() may be
// called from any thread, at any time, any number of times, also after the consumer is gone; it
// must return quickly and must not call back into the stream.
class Waker {
 public:
  class Target {
   public:
    virtual ~Target() = default;
    virtual void wake() noexcept = 0;
  };

  Waker() = default;  // wakes nobody
  explicit Waker(std::shared_ptr<Target> target) : target_(std::move(target)) {}
  // Calls `function` on the waking thread: write to an eventfd, post to a loop.
  explicit Waker(std::function<void()> function);

  void wake() const {
    if (target_) target_->wake();
  }

 private:
  friend class WakerAccess;
  std::shared_ptr<Target> target_;
};

// What one poll gave: an event, nothing yet, or the end.
class Poll {
 public:
  static Poll pending();
  static Poll end();
  Poll(Event event);
  // Straight from an event's payload.
  template <class T>
    requires detail::kIsPayload<std::remove_cvref_t<T>>
  Poll(T&& payload) : state_(State::event), event_(std::forward<T>(payload)) {}

  bool has_event() const { return state_ == State::event; }
  bool is_pending() const { return state_ == State::pending; }
  bool is_end() const { return state_ == State::end; }
  // Only when has_event().
  const Event& event() const { return *event_; }
  Event& event() { return *event_; }
  Event take();

 private:
  enum class State : std::uint8_t { event, pending, end };
  explicit Poll(State state);
  State state_;
  std::optional<Event> event_;
};

// The implementer's view. One thread at a time polls a source; its destructor cancels what it was
// doing and does not wait for it.
class EventSource {
 public:
  EventSource() = default;
  EventSource(const EventSource&) = delete;
  EventSource& operator=(const EventSource&) = delete;
  virtual ~EventSource() = default;

  // The next event; or pending, and `waker` is called when polling again is worth it; or the end,
  // and then the end for ever. Never blocks. Only the waker of the latest poll is called.
  virtual Poll poll(const Waker& waker) = 0;
};

// The user's view: movable, single pass, used by one thread at a time.
class EventStream {
 public:
  EventStream() = default;  // ended
  explicit EventStream(std::unique_ptr<EventSource> source) : source_(std::move(source)) {}

  // The next event, or nothing at the end. Blocks until there is one.
  std::optional<Event> next();
  // The same as a Poll, which is never pending.
  Poll wait();
  // As next(), but gives up at `deadline`: the result is then pending, and the stream goes on.
  Poll next(std::chrono::steady_clock::time_point deadline);
  // What is there now, without waiting.
  Poll try_next();
  Poll poll(const Waker& waker);

  // Cancels the run and frees what it held; the stream is then at its end.
  void drop() { source_.reset(); }

  class Iterator;
  Iterator begin();
  std::default_sentinel_t end() const { return {}; }

 private:
  std::unique_ptr<EventSource> source_;
};

class EventStream::Iterator {
 public:
  using value_type = Event;
  using difference_type = std::ptrdiff_t;

  explicit Iterator(EventStream* stream);
  const Event& operator*() const { return current_.event(); }
  const Event* operator->() const { return &current_.event(); }
  Iterator& operator++();
  void operator++(int);
  friend bool operator==(const Iterator& it, std::default_sentinel_t) { return it.current_.is_end(); }

 private:
  EventStream* stream_;
  Poll current_;
};

}  // namespace allm
