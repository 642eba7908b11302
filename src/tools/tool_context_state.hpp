// The state of a ToolContext, shared by its copies and by the code that runs the call.
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "allm/handler.hpp"

#include "engine/run.hpp"
#include "engine/span.hpp"
#include "tools/polled_call.hpp"

namespace allm {

// Immutable once a context refers to it. Safe to call from any thread.
class ToolContext::State {
 public:
  State(std::shared_ptr<const Run> run_settings, ToolCall tool_call)
      : run(std::move(run_settings)), call(std::move(tool_call)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  virtual ~State() = default;
  virtual void report_progress(Json progress) const = 0;
  virtual std::stop_token stop_token() const { return stop.get_token(); }
  // Hands `polled` to the batch of the call, which polls it; false if there is no batch.
  virtual bool drive(std::unique_ptr<PolledCall> /*polled*/) const { return false; }

  const std::shared_ptr<const Run> run;
  const ToolCall call;
  std::stop_source stop;
  std::chrono::steady_clock::time_point deadline;
  SpanIds span;  // not set without telemetry
  std::string idempotency_key;
};

// The library's access to what the public header hides.
class ToolContextAccess {
 public:
  using State = ToolContext::State;
  static const State& state(const ToolContext& context) { return *context.state_; }
};

}  // namespace allm
