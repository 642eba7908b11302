#include "chat/span_source.hpp"

#include <utility>

namespace allm {

ChatSpanSource::ChatSpanSource(std::shared_ptr<const Run> run, SpanIds ids, std::unique_ptr<EventSource> inner)
    : run_(std::move(run)), ids_(ids), inner_(std::move(inner)) {}

Poll ChatSpanSource::poll(const Waker& waker) {
  if (!started_) {
    span_ = Span(run_, SpanKind::chat, ids_);
    started_ = true;
  }
  Poll polled = inner_->poll(waker);
  if (polled.is_end() && error_) span_.fail(*error_);
  if (!polled.has_event()) return polled;
  if (const auto* error = polled.event().get_if<ErrorEvent>()) error_ = error->error;
  if (const auto* completed = polled.event().get_if<ChatCompleted>()) span_.stop({.chat = completed->result.get()});
  return polled;
}

}  // namespace allm
