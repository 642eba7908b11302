#include "allm/result_stream.hpp"

#include <type_traits>
#include <utility>

#include "runtime/pulled_stream.hpp"

namespace allm {
namespace {

Error dropped_before_end() {
  return Error(StreamError{.reason = StreamError::Reason::cancelled}, "the stream was dropped before its end");
}

template <class T>
std::shared_ptr<const T> result_in(const Event& event) {
  if constexpr (std::is_same_v<T, ChatResult>) {
    const auto* completed = event.get_if<ChatCompleted>();
    return completed != nullptr ? completed->result : nullptr;
  } else {
    const auto* completed = event.get_if<StepCompleted>();
    return completed != nullptr ? completed->step : nullptr;
  }
}

}  // namespace

template <class T>
Poll ResultStream<T>::poll(const Waker& waker) {
  Poll polled = events_.poll(waker);
  if (!polled.has_event() || polled.event().tag() < EventTag::error) return polled;
  if (const auto* failed = polled.event().template get_if<ErrorEvent>()) {
    error_ = failed->error;
  } else if (std::shared_ptr<const T> result = result_in<T>(polled.event())) {
    result_ = std::move(result);
  }
  return polled;
}

template <class T>
Result<T> ResultStream<T>::finish() {
  while (this->next()) {
  }
  const std::shared_ptr<const T> result = std::exchange(result_, nullptr);
  if (!result) return std::unexpected(error_ ? *std::move(error_) : dropped_before_end());
  // This is the only owner, and the result was made for this stream, so it can be moved.
  if (result.use_count() == 1) return std::move(*std::const_pointer_cast<T>(result));
  return *result;
}

Poll ResultStream<Response>::poll(const Waker& waker) {
  Poll polled = events_.poll(waker);
  if (polled.has_event()) collector_.apply(polled.event());
  return polled;
}

Result<Response> ResultStream<Response>::finish() {
  // No other code sees these events, so they are moved into the collector.
  while (Poll polled = events_.next()) collector_.apply(*std::move(polled));
  Result<Response> response = std::move(collector_).response();
  collector_ = StreamCollector();
  if (response && !request_id_.empty()) response->request_id = request_id_;
  return response;
}

template class PulledStream<ChatStream>;
template class PulledStream<StepStream>;
template class PulledStream<ResponseStream>;
template class ResultStream<ChatResult>;
template class ResultStream<StepResult>;

}  // namespace allm
