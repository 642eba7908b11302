#include "allm/stream.hpp"

#include "runtime/blocking.hpp"

namespace allm {
namespace {

class FunctionTarget : public Waker::Target {
 public:
  explicit FunctionTarget(std::function<void()> function) : function_(std::move(function)) {}
  void wake() override { function_(); }

 private:
  std::function<void()> function_;
};

}  // namespace

Waker::Waker(std::function<void()> function) : target_(std::make_shared<FunctionTarget>(std::move(function))) {}

Poll EventStream::poll(const Waker& waker) {
  if (!source_) return Poll::end();
  Poll poll = source_->poll(waker);
  // What a finished run held is freed with it, not with the stream.
  if (poll.is_end()) source_.reset();
  return poll;
}

std::optional<Event> EventStream::next() {
  if (!source_) return std::nullopt;
  ThreadParker waiting;
  while (true) {
    Poll poll = this->poll(waiting.waker());
    if (poll.has_event()) return poll.take();
    if (poll.is_end()) return std::nullopt;
    waiting.parker().wait();
  }
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
