#include "engine/model_call.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>

#include "engine/costs.hpp"
#include "engine/engine_impl.hpp"

namespace allm {
namespace {

std::int64_t random_up_to(std::int64_t limit) {
  if (limit <= 0) return 0;
  thread_local std::minstd_rand generator(std::random_device{}());
  return std::uniform_int_distribution<std::int64_t>(0, limit)(generator);
}

// Null if the error is not worth another try.
std::optional<std::chrono::milliseconds> retry_delay(const RetryPolicy& policy, const Error& error, int attempt) {
  const auto* adapter = error.get_if<AdapterError>();
  if (adapter == nullptr || attempt >= policy.max_attempts) return std::nullopt;
  if (std::find(policy.retry_on.begin(), policy.retry_on.end(), adapter->reason) == policy.retry_on.end()) {
    return std::nullopt;
  }
  const std::int64_t jitter = random_up_to(policy.jitter.count());
  if (policy.respect_retry_after && adapter->retry_after_ms.value_or(0) > 0) {
    return std::chrono::milliseconds(*adapter->retry_after_ms + jitter);
  }
  const int doublings = std::min(attempt - 1, 30);
  const std::int64_t backoff =
      std::min(policy.max_delay.count(), policy.base_delay.count() * (std::int64_t{1} << doublings));
  return std::chrono::milliseconds(backoff + jitter);
}

}  // namespace

ModelCall::ModelCall(std::shared_ptr<const Run> run, const AdapterCall& call) : run_(std::move(run)), call_(call) {}

void ModelCall::open() {
  const TelemetryEvent about{.model = call_.model ? &call_.model->id : nullptr};
  if (attempt_ == 0) generate_ = Span(run_, SpanKind::generate, about);
  ++attempt_;
  stream_ = Span(run_, SpanKind::stream, about);
  auto opened = run_->engine.adapter()->open(call_);
  if (opened) {
    source_ = std::move(*opened);
  } else {
    failure_ = retry_or_fail(opened.error());
  }
}

std::optional<Error> ModelCall::retry_or_fail(Error error) {
  source_.reset();
  stream_.fail(error);
  const auto delay = retry_delay(run_->engine.impl().options.retry, error, attempt_);
  if (!delay) {
    generate_.fail(error);
    return error;
  }
  if (run_->telemetry != nullptr) {
    const Json detail = {{"attempt", attempt_}, {"delay_ms", delay->count()}, {"reason", error.reason()}};
    report(*run_, SpanKind::stream, SpanPhase::retry, {.error = &error, .detail = &detail});
  }
  backoff_.emplace(*run_->engine.runtime(), *delay);
  return std::nullopt;
}

Poll ModelCall::with_costs(MessageCompleted completed) const {
  if (completed.usage) {
    if (const ModelRef* known = known_model(*run_, call_.model)) fill_costs(*known, *completed.usage);
  }
  completed.request_id = call_.request_id;
  return Event(std::move(completed));
}

Poll ModelCall::poll(const Waker& waker) {
  while (!done_) {
    if (failure_) {
      done_ = true;
      return Event(ErrorEvent{*std::exchange(failure_, std::nullopt)});
    }
    if (backoff_) {
      if (!backoff_->poll(waker)) return Poll::pending();
      backoff_.reset();
    }
    if (!source_) {
      open();
      continue;
    }
    Poll polled = source_->poll(waker);
    if (polled.is_pending()) return polled;
    if (polled.is_end()) {
      if (!delivered_) {
        failure_ = retry_or_fail(Error(AdapterError{.reason = AdapterError::Reason::malformed_response,
                                                    .provider = std::string(run_->engine.adapter()->provider())},
                                       "the adapter's stream ended without a message"));
        continue;
      }
      done_ = true;
      source_.reset();
      stream_.stop();
      generate_.stop();
      break;
    }
    if (const auto* error = polled.event().get_if<ErrorEvent>()) {
      if (!delivered_) {
        failure_ = retry_or_fail(error->error);
        continue;
      }
      done_ = true;
      source_.reset();
      stream_.fail(error->error);
      generate_.fail(error->error);
    }
    delivered_ = true;
    if (const auto* completed = polled.event().get_if<MessageCompleted>()) return with_costs(*completed);
    return polled;
  }
  return Poll::end();
}

}  // namespace allm
