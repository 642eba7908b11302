// Telemetry: spans and events of everything a run does, for logs, metrics and traces.
//
// Spans nest: chat → step → generate → stream (one attempt at the provider), and step → tool. One
// request id runs through a whole chat, all its turns included.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allm/json.hpp"
#include "allm/model.hpp"
#include "allm/result.hpp"
#include "allm/tool.hpp"

namespace allm {

enum class SpanKind : std::uint8_t { generate, stream, step, chat, tool };
enum class SpanPhase : std::uint8_t {
  start,
  stop,
  exception,  // ended by a returned error, a timeout or by being dropped
  retry,      // span stream: an attempt failed and another follows
  progress,   // span tool: the handler reported progress
  late,       // span tool: a handler answered after its call was over; the answer was dropped
};

// One moment of a span. The pointers are null where they do not apply, and valid only during the
// call; copy what you keep.
struct TelemetryEvent {
  SpanKind span = SpanKind::chat;
  SpanPhase phase = SpanPhase::start;
  std::string_view request_id = {};
  const std::string* model = nullptr;
  std::chrono::system_clock::time_point time = {};
  std::chrono::nanoseconds duration{0};  // since the span's start, for stop and exception
  // What the span is about, and what it gave.
  const Tool* tool = nullptr;
  const ToolCall* tool_call = nullptr;
  const Response* response = nullptr;
  const StepResult* step = nullptr;
  const ChatResult* chat = nullptr;
  const ToolOutcome* outcome = nullptr;
  const Error* error = nullptr;
  // retry: {attempt, delay_ms, reason}; progress: what was reported; exception: {kind}.
  const Json* detail = nullptr;
};

// "allm.tool.stop"
std::string name_of(const TelemetryEvent& event);

// A sink. on_event is called from several threads at once, some of them the runtime's: it must be
// thread-safe, quick, and must not throw.
class Telemetry {
 public:
  virtual ~Telemetry() = default;
  virtual void on_event(const TelemetryEvent& event) = 0;
};

// Writes one line per event through `write`, e.g.
// `allm.tool.stop request_id=… tool=weather duration_us=412`. Arguments, results and texts are left
// out: they are the user's.
class LogTelemetry : public Telemetry {
 public:
  explicit LogTelemetry(std::function<void(const std::string& line)> write);
  void on_event(const TelemetryEvent& event) override;

 private:
  std::mutex mutex_;
  std::function<void(const std::string& line)> write_;
};

// Keeps events, for tests.
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
  };
  void on_event(const TelemetryEvent& event) override;
  std::vector<Record> records() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Record> records_;
};

}  // namespace allm
