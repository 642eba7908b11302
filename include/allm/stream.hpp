// Streams: lazy, pulled sources of events.
//
// Nothing happens before the first poll, a slow consumer slows the producer, and dropping a stream
// cancels what it was doing. A stream ties to any event loop through a Waker, or blocks in next().
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "allm/event.hpp"

namespace allm {

// Tells a consumer that polling again is worth it. Copies wake the same consumer. wake() may be
// called from any thread, at any time, any number of times, also after the consumer is gone; it
// must return quickly and must not call back into the stream. It never throws.
class Waker {
 public:
  class Target {
   public:
    virtual ~Target() = default;
    virtual void wake() noexcept = 0;
  };

  Waker() = default;  // wakes nobody
  explicit Waker(std::shared_ptr<Target> target) : target_(std::move(target)) {}
  // Calls `function` on the waking thread: write to an eventfd, post to a loop. The function must not throw. If it
  // does, the stream that is polled with this waker ends with a StreamError as soon as it would have to wait.
  explicit Waker(std::function<void()> function);

  void wake() const {
    if (target_) target_->wake();
  }

 private:
  friend class WakerAccess;
  std::shared_ptr<Target> target_;
};

// What one poll gave: an event, nothing yet, or the end. In a condition it is true if there is an event:
//   while (allm::Poll event = stream.next()) show(*event);
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
  explicit operator bool() const { return has_event(); }
  const Event& operator*() const& { return *event_; }
  Event& operator*() & { return *event_; }
  Event&& operator*() && { return *std::move(event_); }
  const Event* operator->() const { return &*event_; }
  Event* operator->() { return &*event_; }

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
  // and then the end for ever. Never blocks. Only the waker of the latest poll is called. Must not throw: what the
  // source of an adapter throws fails the model call (AdapterError `unknown`), and what a source throws that is read
  // directly reaches its reader.
  virtual Poll poll(const Waker& waker) = 0;
};

// How every class of streams is read, over the poll() of the class itself. One thread at a time.
template <class Stream>
class PulledStream {
 public:
  // The next event, or the end; never pending. Blocks.
  Poll next();
  // As next(), but gives up at `deadline`: the result is then pending, and the stream goes on.
  Poll next(std::chrono::steady_clock::time_point deadline);
  // What is there now, without waiting.
  Poll try_next();

  class Iterator {
   public:
    using value_type = Event;
    using difference_type = std::ptrdiff_t;

    explicit Iterator(Stream* stream) : stream_(stream), current_(stream->next()) {}
    const Event& operator*() const { return current_.event(); }
    const Event* operator->() const { return &current_.event(); }
    Iterator& operator++();
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& it, std::default_sentinel_t) { return it.current_.is_end(); }

   private:
    Stream* stream_;
    Poll current_;
  };
  Iterator begin();
  std::default_sentinel_t end() const { return {}; }

 private:
  friend Stream;
  PulledStream() = default;
  Stream& stream() { return static_cast<Stream&>(*this); }
};

// The user's view: movable, single pass, used by one thread at a time.
class EventStream : public PulledStream<EventStream> {
 public:
  EventStream() = default;  // ended
  explicit EventStream(std::unique_ptr<EventSource> source);

  // The next event; or pending, and `waker` is called when polling again is worth it; or the end.
  Poll poll(const Waker& waker);

  // Cancels the run and frees what it held; the stream is then at its end.
  void drop() { source_.reset(); }

 private:
  void check_wait(Poll& polled, const Waker& waker);

  std::unique_ptr<EventSource> source_;
  std::uint32_t fork_generation_ = 0;
};

}  // namespace allm
