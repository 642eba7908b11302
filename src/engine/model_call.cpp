#include "engine/model_call.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <random>
#include <utility>

#include "engine/budget_chain.hpp"
#include "engine/costs.hpp"
#include "engine/engine_impl.hpp"
#include "engine/over_budget.hpp"
#include "engine/repaired_source.hpp"
#include "engine/saturating_sum.hpp"

namespace allm {
namespace {

constexpr const char* kNotAStdException = "an exception that is not a std::exception";

// Produces events that are known.
class KnownEvents : public EventSource {
 public:
  explicit KnownEvents(std::vector<Event> events) : events_(std::move(events)) {}
  Poll poll(const Waker& /*waker*/) override {
    if (next_ == events_.size()) return Poll::end();
    return std::move(events_[next_++]);
  }

 private:
  std::vector<Event> events_;
  std::size_t next_ = 0;
};

std::int64_t random_up_to(std::int64_t limit) {
  if (limit <= 0) return 0;
  thread_local std::minstd_rand generator(std::random_device{}());
  return std::uniform_int_distribution<std::int64_t>(0, limit)(generator);
}

// nullopt if the error is not retried, also because the wait would be longer than `left`.
std::optional<std::chrono::milliseconds> retry_delay(const RetryPolicy& policy, const Error& error, int attempt,
                                                     std::chrono::milliseconds left) {
  const auto* adapter = error.get_if<AdapterError>();
  if (attempt >= policy.max_attempts || !is_retryable(policy, error)) return std::nullopt;
  const std::int64_t jitter = random_up_to(policy.jitter.count());
  if (policy.respect_retry_after && adapter->retry_after_ms.value_or(0) > 0) {
    if (*adapter->retry_after_ms > policy.max_retry_after.count()) return std::nullopt;
    const std::chrono::milliseconds delay(saturating_sum(*adapter->retry_after_ms, jitter));
    return delay < left ? std::optional(delay) : std::nullopt;
  }
  std::int64_t backoff = policy.base_delay.count();
  for (int i = 1; i < attempt && backoff < policy.max_delay.count(); ++i) backoff = saturating_sum(backoff, backoff);
  const std::chrono::milliseconds delay(saturating_sum(std::min(policy.max_delay.count(), backoff), jitter));
  return delay < left ? std::optional(delay) : std::nullopt;
}

}  // namespace

std::vector<AdapterError::Reason> RetryPolicy::default_retry_on() {
  return {AdapterError::Reason::rate_limited, AdapterError::Reason::provider_unavailable, AdapterError::Reason::timeout,
          AdapterError::Reason::network_error};
}

bool is_retryable(const RetryPolicy& policy, const Error& error) {
  const auto* adapter = error.get_if<AdapterError>();
  if (adapter == nullptr || std::ranges::find(policy.retry_on, adapter->reason) == policy.retry_on.end()) return false;
  const Json& metadata = error.metadata();
  return !metadata.is_object() || metadata.value("retryable", Json(true)) != false;
}

RetryPolicy RetryPolicy::standard() { return {}; }
RetryPolicy RetryPolicy::off() { return {.max_attempts = 1, .retry_on = {}}; }

ModelCall::ModelCall(std::shared_ptr<const Run> run, AdapterCall& call, SpanId parent)
    : run_(std::move(run)), call_(call), parent_(parent), max_tokens_(call.request.max_tokens), watch_(call.limits) {
  if (run_->telemetry != nullptr) call_.warn = [this](const AdapterWarning& warning) { warn(warning); };
}

ModelCall::~ModelCall() {
  call_.warn = nullptr;
  call_.request.max_tokens = max_tokens_;
}

void ModelCall::warn(const AdapterWarning& warning) {
  if (std::ranges::find(warned_, warning.setting) != warned_.end()) return;
  warned_.push_back(warning.setting);
  const Json detail = {{"setting", warning.setting}, {"message", warning.message}};
  report(*run_, SpanKind::generate, SpanPhase::warning, generate_.ids(), {.detail = &detail});
}

void ModelCall::open() {
  const TelemetryEvent about{.model = call_.model ? &call_.model->id : nullptr};
  if (attempt_ == 0) generate_ = Span(run_, SpanKind::generate, new_span(*run_, parent_), about);
  ++attempt_;
  stream_ = Span(run_, SpanKind::stream, new_span(*run_, generate_.ids().id), about);
  auto opened = open_source();
  if (!opened) {
    error_ = retry_or_fail(opened.error());
  } else if (!*opened) {
    error_ = retry_or_fail(malformed("the adapter opened no stream"));
  } else {
    source_ = std::make_unique<RepairedSource>(std::move(*opened));
  }
}

std::optional<Error> ModelCall::retry_or_fail(Error error) {
  source_.reset();
  stream_.fail(error);
  if (hold_) hold_->settle(is_unpaid(error) ? Spend{.tokens = 0, .nanos = 0} : Spend{});
  const auto delay = retry_delay(EngineAccess::impl(run_->engine).options.retry, error, attempt_, run_->time_left());
  if (!delay) {
    generate_.fail(error);
    return error;
  }
  if (run_->telemetry != nullptr) {
    const Json detail = {{"attempt", attempt_}, {"delay_ms", delay->count()}, {"reason", error.reason()}};
    report(*run_, SpanKind::generate, SpanPhase::retry, generate_.ids(), {.error = &error, .detail = &detail});
  }
  backoff_.emplace(*run_->engine.runtime(), *delay);
  return std::nullopt;
}

void ModelCall::begin_reservation() {
  call_.request.max_tokens = max_tokens_;
  worst_ = worst_case(call_, known_model(*run_, call_.model));
  hold_.emplace(run_->budget, run_->engine.runtime());
  hold_->reserve(worst_.spend());
}

std::optional<Poll> ModelCall::poll_reservation(const Waker& waker) {
  if (!run_->budget || run_->engine.adapter()->calls_engines()) return std::nullopt;
  if (!hold_) begin_reservation();
  while (true) {
    const std::optional<Result<Reserved>> reserved = hold_->poll_reserved(waker);
    if (!reserved) return Poll::pending();
    if (!*reserved) {
      done_ = true;
      hold_.reset();
      generate_.fail(reserved->error());
      return ErrorEvent{reserved->error()};
    }
    if (std::holds_alternative<ReservationId>(**reserved)) return std::nullopt;
    const auto& refusal = std::get<BudgetRefusal>(**reserved);
    if (!shrink(refusal)) return refuse(refusal);
    hold_->reserve(worst_.spend());
  }
}

bool ModelCall::shrink(const BudgetRefusal& refusal) {
  const std::optional<std::int64_t> least = run_->options.shrink_max_tokens_to;
  if (!least || !worst_.can_shrink || !refusal.needed || !worst_.output_tokens) return false;
  const std::optional<std::int64_t> fits = worst_.output_that_fits(refusal);
  // It must become smaller each time, so that this ends.
  if (!fits || *fits < *least || *fits >= *worst_.output_tokens) return false;
  worst_.output_tokens = fits;
  call_.request.max_tokens = fits;
  return true;
}

Poll ModelCall::refuse(const BudgetRefusal& refusal) {
  Error error = over_budget_error(refusal, call_.model);
  if (const auto limit = limit_of(error)) return end(*limit, error);
  done_ = true;
  hold_.reset();
  generate_.fail(error);
  return ErrorEvent{std::move(error)};
}

bool ModelCall::poll_settled(const Waker& waker) {
  if (!hold_ || !hold_->is_settling()) return true;
  const std::optional<Status> settled = hold_->poll_settled(waker);
  if (!settled) return false;
  if (!*settled && run_->telemetry != nullptr) {
    warn({.setting = "budget", .message = "the worst case counts as spent: " + settled->error().message()});
  }
  hold_.reset();
  return true;
}

void ModelCall::add_facts(MessageCompleted& completed) {
  if (completed.usage) {
    if (const ModelRef* known = known_model(*run_, call_.model)) fill_costs(*known, *completed.usage);
  }
  completed.request_id = call_.request_id;
  if (!completed.reasoning && !reasoning_.empty()) completed.reasoning = reasoning_;
}

void ModelCall::follow_reasoning(Poll& polled) {
  switch (polled.event().tag()) {
    case EventTag::reasoning_delta:
      reasoning_ += polled.event().get_if<ReasoningDelta>()->delta;
      return;
    case EventTag::reasoning_completed:
      reasoning_.resize(reasoning_begin_);
      reasoning_ += polled.event().get_if<ReasoningCompleted>()->text;
      reasoning_begin_ = reasoning_.size();
      return;
    case EventTag::raw_chunk:
      return;
    default:
      break;
  }
  if (reasoning_begin_ == reasoning_.size()) return;
  held_ = polled.take();
  polled = ReasoningCompleted{.text = reasoning_.substr(std::exchange(reasoning_begin_, reasoning_.size()))};
}

Poll ModelCall::poll(const Waker& waker) {
  if (held_) return *std::exchange(held_, std::nullopt);
  Poll polled = run_->can_end_early && !done_ ? poll_until_ended(waker) : source_ ? poll_source(waker) : advance(waker);
  if (polled.has_event()) follow_reasoning(polled);
  return polled;
}

Poll ModelCall::poll_until_ended(const Waker& waker) {
  if (run_->cancel && is_cancelled(run_->cancel->level())) return cancel();
  if (run_->run_timeout && is_overtime(waker)) return time_out();
  Poll polled = source_ ? poll_source(waker) : advance(waker);
  // The waker is needed only if the consumer is about to wait.
  if (polled.is_pending() && run_->cancel && is_cancelled(run_->cancel->watch(waker))) return cancel();
  return polled;
}

bool ModelCall::is_overtime(const Waker& waker) {
  // The clock, because the loop may be driven by this thread: its timers do not fire while the thread computes.
  if (run_->is_overtime()) return true;
  if (!overtime_) overtime_.emplace(*run_->engine.runtime(), run_->time_left());
  return overtime_->poll(waker);
}

bool ModelCall::is_cancelled(CancelSignal::Level level) const {
  // `after_step` lets a step finish, and with it a call that has begun.
  return level >= (attempt_ == 0 ? CancelSignal::Level::after_step : CancelSignal::Level::after_tools);
}

Poll ModelCall::time_out() {
  return end(run_->overtime(),
             Error(AdapterError{.reason = AdapterError::Reason::timeout,
                                .provider = std::string(run_->engine.adapter()->provider())},
                   "the run took longer than its run_timeout of " + std::to_string(run_->run_timeout->count()) + " ms",
                   {{"retryable", false}}));
}

Poll ModelCall::cancel() {
  return end(ended::Cancelled{}, Error(StreamError{.reason = StreamError::Reason::cancelled,
                                                   .provider = std::string(run_->engine.adapter()->provider())},
                                       "the run was cancelled"));
}

Poll ModelCall::end(RunEnd why, const Error& error) {
  done_ = true;
  source_.reset();
  if (completed_) {
    stream_.stop();
    return Poll::end();
  }
  ended_ = std::move(why);
  error_.reset();
  backoff_.reset();
  hold_.reset();
  stream_.fail(error);
  generate_.fail(error);
  return ErrorEvent{error};
}

Poll ModelCall::poll_source(const Waker& waker) {
  Poll polled = poll_guarded(waker);
  if (polled.has_event() && exceeds_limits(polled.event())) {
    polled = ErrorEvent{malformed("the model's answer was stopped: " + watch_.error())};
  }
  if (polled.has_event() && polled.event().tag() < EventTag::error &&
      polled.event().tag() != EventTag::message_completed) {
    delivered_ = true;
    if (run_->journal && !recorded_) run_->journal->note_model_event(polled.event());
  } else if (!polled.is_pending()) {
    handle_end(polled, waker);
  }
  return polled;
}

bool ModelCall::exceeds_limits(const Event& event) {
  switch (event.tag()) {
    case EventTag::tool_call_started:
    case EventTag::tool_call_delta:
    case EventTag::tool_call_completed:
    case EventTag::message_completed:
      return !watch_.add(event);
    default:
      return false;
  }
}

void ModelCall::handle_end(Poll& polled, const Waker& waker) {
  if (polled.is_end()) {
    if (completed_) {
      source_.reset();
      polled = advance(waker);
      return;
    }
    polled = ErrorEvent{malformed("the adapter's stream ended before its message was complete")};
  } else if (auto* completed = polled.event().get_if<MessageCompleted>()) {
    delivered_ = true;
    completed_ = true;
    add_facts(*completed);
    if (run_->journal && !recorded_) run_->journal->note_model_event(polled.event());
    if (recorded_) count_recorded(run_->budget.get(), spend_of(completed->usage));
    if (hold_) hold_->settle(spend_of(completed->usage));
    return;
  } else if (polled.event().tag() != EventTag::error) {
    polled = ErrorEvent{malformed("the adapter's stream gave an event that is none of a model's: " +
                                  std::string(to_string(polled.event().tag())))};
  }
  const Error error = polled.event().get_if<ErrorEvent>()->error;
  if (!delivered_) {
    if (const auto limit = limit_of(error)) {
      polled = end(*limit, error);
      return;
    }
    error_ = retry_or_fail(error);
    polled = advance(waker);
    return;
  }
  done_ = true;
  source_.reset();
  hold_.reset();
  stream_.fail(error);
  generate_.fail(error);
}

Result<std::unique_ptr<EventSource>> ModelCall::open_source() const {
  if (recorded_) return std::make_unique<KnownEvents>(*recorded_);
  try {
    return run_->engine.adapter()->open(call_);
  } catch (const std::exception& exception) {
    return std::unexpected(thrown(exception.what()));
  } catch (...) {
    return std::unexpected(thrown(kNotAStdException));
  }
}

Poll ModelCall::poll_guarded(const Waker& waker) {
  try {
    return source_->poll(waker);
  } catch (const std::exception& exception) {
    return ErrorEvent{thrown(exception.what())};
  } catch (...) {
    return ErrorEvent{thrown(kNotAStdException)};
  }
}

Error ModelCall::thrown(const char* what) const {
  return Error(AdapterError{.reason = AdapterError::Reason::unknown,
                            .provider = std::string(run_->engine.adapter()->provider())},
               std::string("the adapter threw: ") + what)
      .with_cause(std::current_exception());
}

Error ModelCall::malformed(std::string message) const {
  return Error(AdapterError{.reason = AdapterError::Reason::malformed_response,
                            .provider = std::string(run_->engine.adapter()->provider())},
               std::move(message));
}

bool ModelCall::waits_for_journal() {
  RunJournal& journal = *run_->journal;
  if (!std::exchange(has_asked_journal_, true)) recorded_ = journal.next_response();
  return !recorded_ && !(journal.is_committed(journal.last()) && journal.may_start());
}

Poll ModelCall::advance(const Waker& waker) {
  while (!done_) {
    if (!poll_settled(waker)) return Poll::pending();
    if (completed_) {
      done_ = true;
      stream_.stop();
      break;
    }
    if (error_) {
      done_ = true;
      return ErrorEvent{*std::exchange(error_, std::nullopt)};
    }
    if (backoff_) {
      if (!backoff_->poll(waker)) return Poll::pending();
      backoff_.reset();
    }
    if (run_->journal && waits_for_journal()) return Poll::pending();
    // A recorded response costs nothing.
    if (!recorded_) {
      if (std::optional<Poll> waits = poll_reservation(waker)) return *std::move(waits);
    }
    open();
    if (source_) return poll_source(waker);
  }
  return Poll::end();
}

}  // namespace allm
