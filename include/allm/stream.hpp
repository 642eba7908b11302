// Streams: lazy, pulled sources of events.
//
// Nothing happens before the first poll, a slow consumer slows the producer down, and dropping a stream cancels its
// run. A stream can be read from any event loop through a Waker, or by blocking in next().
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

// Tells a consumer to poll again. Copies wake the same consumer. wake() may be called from any thread, at any time, any
// number of times, also after the consumer was destroyed. It never throws. Target is the interface to implement for an
// event loop: its wake() must return quickly and must not call the stream.
class Waker {
 public:
  class Target {
   public:
    virtual ~Target() = default;
    virtual void wake() noexcept = 0;
  };

  Waker() = default;  // wakes no consumer
  explicit Waker(std::shared_ptr<Target> target) : target_(std::move(target)) {}
  // wake() calls `function` on the thread that calls wake(). The function notifies the event loop: it writes to an
  // eventfd, or posts to the loop. It must not throw. If it does, the stream that is polled with this waker ends with a
  // StreamError at the next poll that would return pending.
  explicit Waker(std::function<void()> function);

  void wake() const {
    if (target_) target_->wake();
  }

 private:
  friend class WakerAccess;
  std::shared_ptr<Target> target_;
};

// The result of one poll: an event, pending (no event yet), or the end. In a condition it is true if there is an event:
//   while (allm::Poll event = stream.next()) show(*event);
class Poll {
 public:
  static Poll pending();
  static Poll end();
  Poll(Event event);
  // Makes a Poll with an event from the payload of the event.
  template <class T>
    requires detail::kIsPayload<std::remove_cvref_t<T>>
  Poll(T&& payload) : state_(State::event), event_(std::forward<T>(payload)) {}

  bool has_event() const { return state_ == State::event; }
  bool is_pending() const { return state_ == State::pending; }
  bool is_end() const { return state_ == State::end; }
  // Call these only if has_event(). take() moves the event out.
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

// Produces events when it is polled. Adapters implement it. One thread at a time may use it. The destructor cancels the
// work of the source and does not wait for it.
class EventSource {
 public:
  EventSource() = default;
  EventSource(const EventSource&) = delete;
  EventSource& operator=(const EventSource&) = delete;
  virtual ~EventSource() = default;

  // Returns the next event, pending or the end. After pending, the source calls `waker` when the consumer should poll
  // again; it calls only the waker of the latest poll. After the end, it always returns the end. Must not block and
  // must not throw. If the source of an adapter throws, the model call fails with AdapterError `unknown`. If a source
  // throws that a program reads directly, the exception reaches the program.
  virtual Poll poll(const Waker& waker) = 0;
};

// The base class of all stream classes: functions that read events through poll() of the stream class. One thread at a
// time may use them. `for (const Event& event : stream)` blocks as next() does.
template <class Stream>
class PulledStream {
 public:
  // Blocks until there is an event or the end, and returns it; never pending.
  Poll next();
  // As next(), but returns pending if there is neither at `deadline`. The stream can be read again afterwards.
  Poll next(std::chrono::steady_clock::time_point deadline);
  // As next(), but does not block: returns pending if there is neither yet.
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

// Destroys the source of a stream, but not in a process that was forked since the stream was made: what the source uses
// still belongs to the parent process.
struct EventSourceDeleter {
  std::uint32_t fork_generation = 0;
  void operator()(EventSource* source) const;
};

// A stream of events, as programs read it. Owns its source. Movable, single pass, one thread at a time. A failure of
// the run is an ErrorEvent.
class EventStream : public PulledStream<EventStream> {
 public:
  EventStream() = default;  // a stream that is at its end
  explicit EventStream(std::unique_ptr<EventSource> source);

  // Returns the next event, pending or the end. After pending, `waker` is called when the consumer should poll again.
  // Never blocks.
  Poll poll(const Waker& waker);

  // Cancels the run and frees its resources without waiting; the stream is then at its end.
  void drop() { source_.reset(); }

 private:
  Poll fail(Error error);

  std::unique_ptr<EventSource, EventSourceDeleter> source_;
};

}  // namespace allm
