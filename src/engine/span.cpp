#include "engine/span.hpp"

#include <utility>

#include "engine/request_id.hpp"

namespace allm {

SpanIds new_span(const Run& run, SpanId parent) {
  if (run.telemetry == nullptr) return {};
  return {.id = make_span_id(), .parent = parent.is_set() ? parent : run.trace.span_id};
}

void report(const Run& run, SpanKind kind, SpanPhase phase, const SpanIds& ids, TelemetryEvent event) noexcept {
  if (run.telemetry == nullptr) return;
  event.span = kind;
  event.phase = phase;
  event.request_id = run.request_id;
  event.trace_id = run.trace.trace_id;
  event.span_id = ids.id;
  event.parent_span_id = ids.parent;
  if (run.options.session_id) event.session_id = *run.options.session_id;
  event.engine_id = run.engine.id();
  if (event.model == nullptr) event.model = run.model_name();
  event.time = std::chrono::system_clock::now();
  try {
    run.telemetry->on_event(event);
  } catch (...) {
    // A sink that throws must not end the run.
    return;
  }
}

Span::Span(std::shared_ptr<const Run> run, SpanKind kind, SpanIds ids, const TelemetryEvent& about) : ids_(ids) {
  if (run->telemetry == nullptr) return;
  open_ = std::make_unique<const Open>(std::move(run), kind, about, std::chrono::steady_clock::now());
  report(*open_->run, kind, SpanPhase::start, ids_, about);
}

Span& Span::operator=(Span&& other) noexcept {
  std::swap(ids_, other.ids_);
  std::swap(open_, other.open_);
  return *this;
}

Span::~Span() {
  if (!open_) return;
  const Json detail = {{"kind", "cancelled"}};
  TelemetryEvent event = open_->about;
  event.detail = &detail;
  end(SpanPhase::exception, event);
}

void Span::end(SpanPhase phase, TelemetryEvent event) {
  const std::unique_ptr<const Open> open = std::move(open_);
  event.duration = std::chrono::steady_clock::now() - open->started;
  report(*open->run, open->kind, phase, ids_, event);
}

void Span::stop(const TelemetryEvent& result) {
  if (!open_) return;
  TelemetryEvent event = open_->about;
  if (result.response != nullptr) event.response = result.response;
  if (result.step != nullptr) event.step = result.step;
  if (result.chat != nullptr) event.chat = result.chat;
  if (result.outcome != nullptr) event.outcome = result.outcome;
  end(SpanPhase::stop, event);
}

void Span::fail(const Error& error) {
  if (!open_) return;
  const Json detail = {{"kind", "error"}};
  TelemetryEvent event = open_->about;
  event.error = &error;
  event.detail = &detail;
  end(SpanPhase::exception, event);
}

}  // namespace allm
