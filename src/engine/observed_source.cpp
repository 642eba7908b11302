#include "engine/observed_source.hpp"

#include <utility>

#include "runtime/failed_source.hpp"
#include "runtime/poll_budget.hpp"

namespace allm {

ObservedSource::ObservedSource(std::unique_ptr<EventSource> inner, const CallOptions& options)
    : inner_(std::move(inner)),
      on_event_(options.on_event),
      text_deltas_(options.emit_text_deltas.value_or(true)),
      tool_deltas_(options.emit_tool_deltas.value_or(true)),
      shows_reasoning_(options.emit_reasoning.value_or(true)),
      raw_chunks_(options.include_raw_chunks.value_or(false)) {}

Poll ObservedSource::poll(const Waker& waker) {
  if (!held_.empty()) return poll_held();
  return inner_ ? poll_inner(waker) : Poll::end();
}

Poll ObservedSource::poll_held() {
  Poll polled = std::move(held_.front());
  held_.pop_front();
  if (on_event_) on_event_(polled.event());
  return polled;
}

Poll ObservedSource::poll_inner(const Waker& waker) {
  try {
    Poll polled = inner_->poll(waker);
    PollBudget budget;
    while (polled.has_event() && !observe(polled)) {
      if (!budget.spend(waker)) return Poll::pending();
      polled = inner_->poll(waker);
    }
    return polled;
  } catch (...) {
    // The callback threw: the run ends, and the exception goes to the caller.
    inner_.reset();
    throw;
  }
}

bool ObservedSource::observe(Poll& polled) {
  if (polled.event().tag() == EventTag::error) {
    if (!dropped_reasoning_.empty()) held_.emplace_back(ReasoningCompleted{std::exchange(dropped_reasoning_, {})});
    if (!dropped_text_.empty()) held_.emplace_back(TextCompleted{.text = std::exchange(dropped_text_, {})});
    if (!held_.empty()) {
      held_.push_back(polled.take());
      polled = std::move(held_.front());
      held_.pop_front();
      // The observer has already seen ReasoningCompleted.
      if (on_event_ && polled.event().tag() != EventTag::reasoning_completed) on_event_(polled.event());
      return true;
    }
  }
  if (on_event_) on_event_(polled.event());
  return passes(polled.event());
}

bool ObservedSource::passes(const Event& event) {
  switch (event.tag()) {
    case EventTag::text_delta:
      if (!text_deltas_) dropped_text_ += event.get_if<TextDelta>()->delta;
      return text_deltas_;
    case EventTag::tool_call_delta:
      return tool_deltas_;
    case EventTag::reasoning_delta:
      return shows_reasoning_;
    case EventTag::reasoning_completed:
      if (!shows_reasoning_) dropped_reasoning_ += event.get_if<ReasoningCompleted>()->text;
      return shows_reasoning_;
    case EventTag::raw_chunk:
      return raw_chunks_;
    case EventTag::text_completed:
      dropped_text_.clear();
      return true;
    case EventTag::message_started:
    case EventTag::message_completed:
      dropped_text_.clear();
      dropped_reasoning_.clear();
      return true;
    default:
      return true;
  }
}

EventStream observed_stream(std::unique_ptr<EventSource> inner, const CallOptions& options) {
  return EventStream(std::make_unique<ObservedSource>(std::move(inner), options));
}

std::unique_ptr<EventSource> failed_source(Error error) { return std::make_unique<FailedSource>(std::move(error)); }

EventStream failed_stream(Error error, const CallOptions& options) {
  return observed_stream(failed_source(std::move(error)), options);
}

}  // namespace allm
