#include "chat/generate_source.hpp"

#include <utility>

namespace allm {

GenerateSource::GenerateSource(std::shared_ptr<const Run> run) : run_(std::move(run)), call_(*run_) {}

Poll GenerateSource::poll(const Waker& waker) {
  if (done_) return Poll::end();
  if (!model_) {
    Status valid = call_.check(0);
    if (valid) valid = call_.set_messages(call_.messages(), 0, ValidationError::Reason::invalid_request);
    if (!valid) {
      done_ = true;
      return Event(ErrorEvent{valid.error()});
    }
    model_.emplace(run_, call_.call());
    if (run_->telemetry != nullptr) collector_.emplace();
  }
  Poll polled = model_->poll(waker);
  if (collector_) observe(polled);
  return polled;
}

void GenerateSource::observe(const Poll& polled) {
  if (polled.has_event()) return collector_->apply(polled.event());
  if (!polled.is_end()) return;
  if (const Result<Response> response = std::move(*collector_).response()) model_->report_result(*response);
  collector_.reset();
}

}  // namespace allm
