// Telemetry: spans and events of everything a run does, for logs, metrics and traces.
//
// Spans nest: chat → step → generate → stream (one attempt at the provider), and step → tool. A span starts after its
// parent and ends before it. All spans of a run share one request id and one trace id; the outermost span is a child of
// CallOptions::traceparent, if there is one. If EngineOptions::telemetry is null, no ids are made.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allm/json.hpp"
#include "allm/model.hpp"
#include "allm/result.hpp"
#include "allm/tool.hpp"
#include "allm/trace.hpp"

namespace allm {

enum class SpanKind : std::uint8_t { generate, stream, step, chat, tool };
enum class SpanPhase : std::uint8_t {
  start,
  stop,
  exception,  // the span ended with a returned error or a timeout, or it was dropped
  retry,      // span generate: an attempt at the provider failed and another follows
  warning,    // span generate: a setting was left out of the request, because the model does not accept it
  progress,   // span tool: the handler reported progress
  late,       // span tool, after its end: a handler answered after its call was over; the answer was dropped
};

// One moment of a span. The pointers are null if they do not apply. Pointers and views are valid only during
// on_event(); copy what you keep.
struct TelemetryEvent {
  SpanKind span = SpanKind::chat;
  SpanPhase phase = SpanPhase::start;
  std::string_view request_id = {};
  TraceId trace_id = {};
  SpanId span_id = {};
  SpanId parent_span_id = {};        // not set: the span is the root of its trace
  std::string_view session_id = {};  // empty outside a session
  std::uint64_t engine_id = 0;
  const std::string* model = nullptr;
  std::chrono::system_clock::time_point time = {};
  std::chrono::nanoseconds duration{0};  // since the span's start, for stop and exception
  // The subject of the span, and its result.
  const Tool* tool = nullptr;
  const ToolCall* tool_call = nullptr;
  const Response* response = nullptr;
  const StepResult* step = nullptr;
  const ChatResult* chat = nullptr;
  const ToolOutcome* outcome = nullptr;
  const Error* error = nullptr;
  // retry: {attempt, delay_ms, reason}; warning: {setting, message}; progress: what was reported; exception: {kind}.
  const Json* detail = nullptr;
};

// The name of an event, from its span and phase: "allm.tool.stop". The names of a retry and a warning are
// "allm.adapter.retry" and "allm.adapter.warning".
std::string name_of(const TelemetryEvent& event);

// Receives telemetry events. on_event is called from several threads at once, also from threads of the runtime, so it
// must be thread-safe and quick. If it throws, the exception is caught and ignored, and the run goes on.
class Telemetry {
 public:
  virtual ~Telemetry() = default;
  virtual void on_event(const TelemetryEvent& event) = 0;
};

// Writes one line per event through `write`, e.g. `    allm.tool.stop request_id=… tool=weather … duration_us=412 …
// trace=4bf92f3577b34da6 span=00f067aa parent=53995c3f`. The line is indented by two spaces for each open span that
// encloses it, so that the lines of one trace show its tree. Ids are shortened to their first digits (16 of a trace, 8
// of a span): enough to join lines, and to find a trace whose full id is known. Arguments, results and texts are left
// out, because they may be confidential. `write` is called by one thread at a time.
class LogTelemetry : public Telemetry {
 public:
  explicit LogTelemetry(std::function<void(const std::string& line)> write);
  void on_event(const TelemetryEvent& event) override;

 private:
  // Returns how many open spans enclose the span of the event, and updates `open_`. The caller holds the mutex.
  std::size_t depth_of(const TelemetryEvent& event);

  std::mutex mutex_;
  std::map<SpanId, std::size_t> open_;  // the depth of each open span
  std::function<void(const std::string& line)> write_;
};

// Keeps all events in memory, for tests and for people who look at one run. Safe to use from any thread.
class CollectingTelemetry : public Telemetry {
 public:
  struct Record {
    std::string name;
    std::string request_id;
    std::chrono::nanoseconds duration{0};
    std::optional<std::string> model;
    std::optional<std::string> tool;
    std::optional<std::string> tool_call_id;
    std::optional<std::string> error_reason;
    Json detail;
    SpanKind span = SpanKind::chat;
    SpanPhase phase = SpanPhase::start;
    TraceId trace_id = {};
    SpanId span_id = {};
    SpanId parent_span_id = {};
    std::optional<std::string> session_id = {};
    std::uint64_t engine_id = 0;
  };
  struct TreeOptions {
    bool durations = false;  // off, so that a test can compare the text
  };
  void on_event(const TelemetryEvent& event) override;
  // In the order in which they were reported.
  std::vector<Record> records() const;
  // The spans as a tree: one line for each span, indented under its parent, in the order of their starts. Other events
  // are lines under their span that begin with a hyphen.
  //   chat
  //     step
  //       generate some-model
  //         stream: rate_limited
  //         - adapter.retry
  //         stream
  //       tool weather
  std::string tree() const { return tree(TreeOptions{}); }
  std::string tree(TreeOptions options) const;

 private:
  mutable std::mutex mutex_;
  std::vector<Record> records_;
};

}  // namespace allm
