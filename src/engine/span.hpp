// Spans: report the start and the end of a piece of work to a telemetry sink.
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

// Ids of a new span whose parent is `parent` or, if that is not set, the run's own parent. Without telemetry the ids
// are not set.
SpanIds new_span(const Run& run, SpanId parent = {});

// A span of a run. Without a sink it holds only its ids. A span that is destroyed before it ended reports itself as
// cancelled. One thread at a time.
class Span {
 public:
  Span() = default;
  // Reports the start. `about` describes the span; its pointers must be valid until the end.
  Span(std::shared_ptr<const Run> run, SpanKind kind, SpanIds ids, const TelemetryEvent& about = {});
  Span(Span&& other) noexcept = default;
  Span& operator=(Span&& other) noexcept;
  ~Span();

  bool active() const { return open_ != nullptr; }
  const SpanIds& ids() const { return ids_; }
  void stop(const TelemetryEvent& result = {});
  void fail(const Error& error);

 private:
  struct Open {
    std::shared_ptr<const Run> run;
    SpanKind kind;
    TelemetryEvent about;
    std::chrono::steady_clock::time_point started;
  };
  void end(SpanPhase phase, TelemetryEvent event);

  SpanIds ids_;
  std::unique_ptr<const Open> open_;  // null if there is no sink, or if the span has ended
};

// Reports an event of a span, if there is a sink. Exceptions of the sink are dropped. Safe to call from any thread.
void report(const Run& run, SpanKind kind, SpanPhase phase, const SpanIds& ids, TelemetryEvent event) noexcept;

}  // namespace allm
