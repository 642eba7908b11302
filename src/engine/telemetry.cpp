#include "allm/telemetry.hpp"

#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace allm {
namespace {

std::string_view to_string(SpanKind kind) {
  switch (kind) {
    case SpanKind::generate:
      return "generate";
    case SpanKind::stream:
      return "stream";
    case SpanKind::step:
      return "step";
    case SpanKind::chat:
      return "chat";
    case SpanKind::tool:
      return "tool";
  }
  return "unknown";
}

std::string_view to_string(SpanPhase phase) {
  switch (phase) {
    case SpanPhase::start:
      return "start";
    case SpanPhase::stop:
      return "stop";
    case SpanPhase::exception:
      return "exception";
    case SpanPhase::retry:
      return "retry";
    case SpanPhase::warning:
      return "warning";
    case SpanPhase::progress:
      return "progress";
    case SpanPhase::late:
      return "late";
  }
  return "unknown";
}

bool is_end(SpanPhase phase) { return phase == SpanPhase::stop || phase == SpanPhase::exception; }

bool is_of_adapter(SpanPhase phase) { return phase == SpanPhase::retry || phase == SpanPhase::warning; }

void append_ids(std::string& line, const TelemetryEvent& event) {
  const auto out = std::back_inserter(line);
  if (!event.session_id.empty()) fmt::format_to(out, " session_id={}", event.session_id);
  fmt::format_to(out, " engine={} trace={:.16} span={:.8}", event.engine_id, to_hex(event.trace_id),
                 to_hex(event.span_id));
  if (event.parent_span_id.is_set()) fmt::format_to(out, " parent={:.8}", to_hex(event.parent_span_id));
}

}  // namespace

std::string name_of(const TelemetryEvent& event) {
  if (is_of_adapter(event.phase)) return fmt::format("allm.adapter.{}", to_string(event.phase));
  return fmt::format("allm.{}.{}", to_string(event.span), to_string(event.phase));
}

LogTelemetry::LogTelemetry(std::function<void(const std::string& line)> write) : write_(std::move(write)) {}

std::size_t LogTelemetry::depth_of(const TelemetryEvent& event) {
  if (const auto open = open_.find(event.span_id); open != open_.end()) {
    const std::size_t depth = open->second;
    if (is_end(event.phase)) open_.erase(open);
    // Events that are neither start nor end belong inside the span.
    return is_end(event.phase) ? depth : depth + 1;
  }
  const auto parent = open_.find(event.parent_span_id);
  const std::size_t depth = parent == open_.end() ? 0 : parent->second + 1;
  if (event.phase == SpanPhase::start) open_.emplace(event.span_id, depth);
  return depth;
}

void LogTelemetry::on_event(const TelemetryEvent& event) {
  std::string line = fmt::format("{} request_id={}", name_of(event), event.request_id);
  const auto out = std::back_inserter(line);
  if (event.model != nullptr) fmt::format_to(out, " model={}", *event.model);
  if (event.tool_call != nullptr) {
    fmt::format_to(out, " tool={} tool_call_id={}", event.tool_call->name, event.tool_call->id);
  }
  if (event.chat != nullptr) {
    fmt::format_to(out, " halted_reason={} steps={}", event.chat->halted_reason(), event.chat->steps.size());
  }
  if (event.error != nullptr) fmt::format_to(out, " error={}.{}", event.error->kind(), event.error->reason());
  if (is_end(event.phase)) {
    fmt::format_to(out, " duration_us={}",
                   std::chrono::duration_cast<std::chrono::microseconds>(event.duration).count());
  }
  if (is_of_adapter(event.phase) && event.detail != nullptr) {
    for (const auto& [key, value] : event.detail->items()) {
      fmt::format_to(out, " {}={}", key, value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
  append_ids(line, event);
  const std::lock_guard lock(mutex_);
  write_(std::string(2 * depth_of(event), ' ') + line);
}

void CollectingTelemetry::on_event(const TelemetryEvent& event) {
  Record record{
      .name = name_of(event),
      .request_id = std::string(event.request_id),
      .duration = event.duration,
      .model = event.model != nullptr ? std::optional(*event.model) : std::nullopt,
      .tool = event.tool_call != nullptr ? std::optional(event.tool_call->name) : std::nullopt,
      .tool_call_id = event.tool_call != nullptr ? std::optional(event.tool_call->id) : std::nullopt,
      .error_reason = event.error != nullptr ? std::optional(std::string(event.error->reason())) : std::nullopt,
      .detail = event.detail != nullptr ? *event.detail : Json(nullptr),
      .span = event.span,
      .phase = event.phase,
      .trace_id = event.trace_id,
      .span_id = event.span_id,
      .parent_span_id = event.parent_span_id,
      .session_id = event.session_id.empty() ? std::nullopt : std::optional(std::string(event.session_id)),
      .engine_id = event.engine_id};
  const std::lock_guard lock(mutex_);
  records_.push_back(std::move(record));
}

std::vector<CollectingTelemetry::Record> CollectingTelemetry::records() const {
  const std::lock_guard lock(mutex_);
  return records_;
}

}  // namespace allm
