// What a ToolContext shows, shared by its copies and by whatever runs the call.
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <utility>

#include "allm/handler.hpp"

#include "engine/run.hpp"
#include "engine/span.hpp"

namespace allm {

// Its data does not change once a context shows it.
class ToolContext::State {
 public:
  State(std::shared_ptr<const Run> run_settings, ToolCall tool_call)
      : run(std::move(run_settings)), call(std::move(tool_call)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  virtual ~State() = default;
  virtual void report_progress(Json progress) const = 0;
  virtual std::stop_token stop_token() const { return stop.get_token(); }

  const std::shared_ptr<const Run> run;
  const ToolCall call;
  std::stop_source stop;
  std::chrono::steady_clock::time_point deadline;
  SpanIds span;  // not set without telemetry
};

}  // namespace allm
