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

EventStream::EventStream(std::unique_ptr<EventSource> source)
    : source_(std::move(source)), fork_generation_(fork_generation()) {}

Poll EventStream::poll(const Waker& waker) {
  Poll polled = source_ ? source_->poll(waker) : Poll::end();
  if (polled.has_event()) return polled;
  if (polled.is_pending()) {
    check_wait(polled, waker);
  } else {
    source_.reset();  // frees what the run held at its end, not when the stream is destroyed
  }
  return polled;
}

void EventStream::check_wait(Poll& polled, const Waker& waker) {
  Parker* const waiter = WakerAccess::waiting_parker(waker);
  std::optional<Error> error;
  if (fork_generation_ != fork_generation()) {
    error = forked_error();
    // That loop belongs to the parent process.
    if (waiter != nullptr) waiter->drive_in_next_wait(nullptr);
  } else if (waiter == nullptr) {
    error = waker_error(waker);
  }
  if (!error) return;
  source_.reset();
  polled = ErrorEvent{*std::move(error)};
}

}  // namespace allm
