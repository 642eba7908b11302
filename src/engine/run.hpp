// One run's settings, resolved once: the call's over the request's over the engine's over defaults. Everything that
// works on the run shares one of these.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "allm/engine.hpp"
#include "allm/options.hpp"

#include "engine/cancel_signal.hpp"
#include "engine/run_ledger.hpp"
#include "engine/side_usage.hpp"
#include "engine/tool_set.hpp"

namespace allm {

// Immutable once it is shared, but for what `ledger` and `cancel` point to; then safe to read from any thread.
struct Run {
  Engine engine;
  // The call's, with what it leaves out taken from the engine. Their tools are merged into `tools`.
  CallOptions options;
  // The caller's request, whose settings are in `options`: its metadata goes into every model call.
  Request request;
  std::shared_ptr<const ToolSet> tools;
  std::string request_id;
  std::shared_ptr<const Json> context;  // for handlers, never null

  Mode mode = Mode::automatic;
  std::int64_t max_turns = 8;
  std::chrono::milliseconds tool_timeout{30'000};
  std::optional<std::chrono::milliseconds> run_timeout;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();  // of the run
  std::optional<std::int64_t> max_concurrency;
  OnToolError on_tool_error = ToolErrorAction::tell_model;
  OnUnknownTool on_unknown_tool = OnUnknownTool::error;
  bool structured_finalize = false;
  bool ask_for_format = true;  // false in the first pass of a finalize run
  std::string nudge;
  // Null for the built-in ones.
  std::shared_ptr<ToolExecutor> executor;
  std::shared_ptr<ToolResultEncoder> encoder;
  Telemetry* telemetry = nullptr;
  // The trace, and the parent of the run's outermost spans. Without telemetry it is what the caller gave.
  TraceParent trace;
  ApprovalGate approve;  // empty for none
  RunLimits limits;
  std::shared_ptr<RunLedger> ledger;      // null without a limit that it counts
  std::shared_ptr<CancelSignal> cancel;   // null if nobody can cancel the run
  std::shared_ptr<SideUsage> side_usage;  // null where only the run's own steps call a model
  bool can_end_early = false;             // whether a deadline or a cancellation can end a model call
  std::shared_ptr<const Run> parent;      // the run whose tool this run is; null for most. Keeps `telemetry` alive
  int depth = 0;                          // how many parents there are
  // Whether anybody sees the events of which a message of the model consists. If not, they end where they are
  // collected.
  bool shows_messages = true;

  // What is left of the run's time; as good as endless without a limit.
  std::chrono::milliseconds time_left() const;
  bool is_overtime() const { return run_timeout && time_left() <= std::chrono::milliseconds(0); }
  // How far the run has been cancelled.
  CancelSignal::Level cancel_level() const { return cancel ? cancel->level() : CancelSignal::Level::none; }
  // Why no further step may follow the last one, if there is a reason: a cancellation, or a limit that is reached.
  // For the consumer's thread.
  std::optional<RunEnd> ended() const;
  ended::Limit overtime() const;
  // The name of the model for telemetry, if it is known before a request is made.
  const std::string* model_name() const;
};

// `tools` stand in for the engine's, if given. Fails with ValidationError `invalid_option`; every
// option that is wrong is named.
Result<std::shared_ptr<Run>> resolve_run(const Engine& engine, CallOptions options,
                                         std::shared_ptr<const ToolSet> tools = nullptr);

// Makes `run` a part of `parent`: what it spends counts in the limits and the usage of both, and the parent's telemetry
// sees it if it has no sink of its own.
void nest(Run& run, std::shared_ptr<const Run> parent);

// The second pass of a finalize run: no tools, one turn, the answer's format restored.
std::shared_ptr<const Run> finalize_pass(const Run& run);
// Its first pass: the same run without the format.
std::shared_ptr<const Run> tool_pass(const Run& run);

}  // namespace allm
