// One run's settings, resolved once: the call's over the request's over the engine's over defaults. All parts of the
// run share one object.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "allm/engine.hpp"
#include "allm/options.hpp"

#include "engine/cancel_signal.hpp"
#include "engine/run_journal.hpp"
#include "engine/run_ledger.hpp"
#include "engine/side_usage.hpp"
#include "engine/tool_set.hpp"

namespace allm {

// Immutable once it is shared, except for the objects that `ledger`, `cancel`, `side_usage` and `journal` point to.
// Safe to read from any thread then.
struct Run {
  Engine engine;
  // The call's options; those that it leaves out are the engine's. Their tools are merged into `tools`.
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
  // Null means the built-in one.
  std::shared_ptr<ToolExecutor> executor;
  std::shared_ptr<ToolResultEncoder> encoder;
  Telemetry* telemetry = nullptr;
  // The trace, and the parent of the run's outermost spans. Without telemetry: the caller's `traceparent`.
  TraceParent trace;
  ApprovalGate approve;  // empty for none
  RunLimits limits;
  std::shared_ptr<RunLedger> ledger;      // null if no limit needs it
  std::shared_ptr<BudgetLedger> budget;   // what model calls reserve in: all budgets of the run as one, or null
  std::shared_ptr<CancelSignal> cancel;   // null if the run cannot be cancelled
  std::shared_ptr<SideUsage> side_usage;  // null where only the run's own steps call a model
  // Null if the run is not recorded. Shared with the runner of the session, which writes it. Runs that this one calls
  // as tools have none.
  std::shared_ptr<RunJournal> journal;
  bool can_end_early = false;         // whether a deadline or a cancellation can end a model call
  std::shared_ptr<const Run> parent;  // the run that called this one as a tool, or null. Keeps `telemetry` alive
  int depth = 0;                      // number of ancestors
  // False if no consumer sees the events of a model's message: they need not be passed on from the step that collects
  // them.
  bool shows_messages = true;

  // Time until the run's deadline; practically unlimited without one.
  std::chrono::milliseconds time_left() const;
  bool is_overtime() const { return run_timeout && time_left() <= std::chrono::milliseconds(0); }
  // How strictly the run has been cancelled.
  CancelSignal::Level cancel_level() const { return cancel ? cancel->level() : CancelSignal::Level::none; }
  // Why no further step may follow: a cancellation, or a limit that is reached; nullopt if a step may follow. Only for
  // the consumer's thread.
  std::optional<RunEnd> ended() const;
  ended::Limit overtime() const;
  // The name of the model for telemetry, if it is known before a request is made.
  const std::string* model_name() const;
};

// `tools`, if given, replace the engine's. Fails with ValidationError `invalid_option`, which names every invalid
// option.
Result<std::shared_ptr<Run>> resolve_run(const Engine& engine, CallOptions options,
                                         std::shared_ptr<const ToolSet> tools = nullptr);

// Makes `run` a part of `parent`: its usage counts against the limits of both runs, and the parent's telemetry sink
// gets its events unless it has its own sink.
void nest(Run& run, std::shared_ptr<const Run> parent);

// The second pass of a finalize run: no tools, one step, and the response format set again.
std::shared_ptr<const Run> finalize_pass(const Run& run);
// The first pass of a finalize run: the same run without the response format.
std::shared_ptr<const Run> tool_pass(const Run& run);

}  // namespace allm
