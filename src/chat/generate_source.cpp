#include "chat/generate_source.hpp"

#include <utility>

namespace allm {

GenerateSource::GenerateSource(std::shared_ptr<const Run> run, Request request)
    : run_(std::move(run)), call_(*run_, std::move(request)) {}

Poll GenerateSource::poll(const Waker& waker) {
  if (done_) return Poll::end();
  if (!model_) {
    if (Status valid = call_.check(0); !valid) {
      done_ = true;
      return Event(ErrorEvent{valid.error()});
    }
    model_.emplace(run_, call_.call());
  }
  return model_->poll(waker);
}

}  // namespace allm
