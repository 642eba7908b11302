// Spans: the begin and end of a piece of work, told to a telemetry sink.
#pragma once

#include <chrono>
#include <memory>

#include "allm/telemetry.hpp"

#include "engine/run.hpp"

namespace allm {

struct SpanIds {
  SpanId id = {};
  SpanId parent = {};
};

// Ids of a new span of the run below `parent`; if that is not set, below the run's own parent. Without telemetry they
// are not set.
SpanIds new_span(const Run& run, SpanId parent = {});

// A span of a run. It costs nothing where no sink is set. One that is destroyed before it ended was
// dropped, and says so. One thread at a time.
class Span {
 public:
  Span() = default;
  // Reports the start. `about` adds what the span is about; its pointers must live until the end.
  Span(std::shared_ptr<const Run> run, SpanKind kind, SpanIds ids, const TelemetryEvent& about = {});
  Span(Span&& other) noexcept = default;
  Span& operator=(Span&& other) noexcept;
  ~Span();

  bool active() const { return run_ != nullptr; }
  const SpanIds& ids() const { return ids_; }
  void stop(const TelemetryEvent& result = {});
  void fail(const Error& error);

 private:
  void end(SpanPhase phase, TelemetryEvent event);

  std::shared_ptr<const Run> run_;  // null when there is nothing to report
  SpanKind kind_ = SpanKind::chat;
  SpanIds ids_;
  TelemetryEvent about_;
  std::chrono::steady_clock::time_point started_;
};

// Reports a moment of a span, if there is a sink. What the sink throws is dropped. Safe from any thread.
void report(const Run& run, SpanKind kind, SpanPhase phase, const SpanIds& ids, TelemetryEvent event) noexcept;

}  // namespace allm
