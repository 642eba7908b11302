#include "allm/stream.hpp"

#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "runtime/fork_guard.hpp"
#include "runtime/pulled_stream.hpp"

namespace allm {
namespace {

class FunctionTarget : public Waker::Target {
 public:
  explicit FunctionTarget(std::function<void()> function) : function_(std::move(function)) {}
  void wake() noexcept override {
    try {
      function_();
    } catch (const std::exception& exception) {
      fail(exception.what());
    } catch (...) {
      fail("an exception that is not a std::exception");
    }
  }
  // The message of what the function threw; nullopt if it never threw.
  std::optional<std::string> failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

 private:
  void fail(const char* what) {
    const std::lock_guard lock(mutex_);
    failure_ = what;
  }
  std::function<void()> function_;
  mutable std::mutex mutex_;
  std::optional<std::string> failure_;
};

// The error of a waker whose function has thrown: a consumer that waits with it might wait for ever.
std::optional<Error> waker_error(const Waker& waker) {
  const auto* function = dynamic_cast<const FunctionTarget*>(WakerAccess::target(waker));
  if (function == nullptr) return std::nullopt;
  const std::optional<std::string> failure = function->failure();
  if (!failure) return std::nullopt;
  return Error(StreamError{.reason = StreamError::Reason::unknown}, "the waker of the stream threw: " + *failure);
}

}  // namespace

Waker::Waker(std::function<void()> function) : target_(std::make_shared<FunctionTarget>(std::move(function))) {}

Poll::Poll(State state) : state_(state) {}
Poll::Poll(Event event) : state_(State::event), event_(std::move(event)) {}
Poll Poll::pending() { return Poll(State::pending); }
Poll Poll::end() { return Poll(State::end); }
Event Poll::take() { return std::move(*event_); }

template class PulledStream<EventStream>;

void EventSourceDeleter::operator()(EventSource* source) const {
  if (fork_generation == allm::fork_generation()) delete source;
}

EventStream::EventStream(std::unique_ptr<EventSource> source)
    : source_(source.release(), EventSourceDeleter{fork_generation()}) {}

Poll EventStream::poll(const Waker& waker) {
  if (!source_) return Poll::end();
  if (source_.get_deleter().fork_generation != fork_generation()) return fail(forked_error());
  Poll polled = source_->poll(waker);
  if (polled.has_event()) return polled;
  if (polled.is_end()) {
    source_.reset();  // frees what the run held at its end, not when the stream is destroyed
    return polled;
  }
  Parker* const waiter = WakerAccess::waiting_parker(waker);
  if (source_.get_deleter().fork_generation != fork_generation()) {
    // A callback forked during the poll. The loop that this thread would drive belongs to the parent process.
    if (waiter != nullptr) waiter->drive_in_next_wait(nullptr);
    return fail(forked_error());
  }
  if (waiter == nullptr) {
    if (auto error = waker_error(waker)) return fail(*std::move(error));
  }
  return polled;
}

Poll EventStream::fail(Error error) {
  source_.reset();
  return ErrorEvent{std::move(error)};
}

}  // namespace allm
