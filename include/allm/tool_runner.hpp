// The tool runner: runs a batch of tool calls in parallel, with deadlines and without a model.
#pragma once

#include <optional>
#include <vector>

#include "allm/engine.hpp"
#include "allm/options.hpp"
#include "allm/stream.hpp"

namespace allm {

struct ToolBatch {
  std::vector<Message> messages = {};  // one tool message per call, in the order of the calls
  // Set if a call asked to end the run: AskUser, Halted or ToolError. If several did, that of the first in `calls`.
  std::optional<StepEnd> halt = std::nullopt;
  bool operator==(const ToolBatch&) const;
};

// Runs every call, also calls of manual tools, and blocks until all have ended. The engine's own tools are not used.
// Fails before any call runs: with EngineError `unknown_tool` if a call names a tool that does not exist (unless
// `on_unknown_tool` is report), and with a ValidationError or EngineError `invalid_engine` if an option or a tool is
// wrong. If a single call fails, its tool message reports it. Safe to call from any thread.
Result<ToolBatch> run_tool_calls(std::vector<ToolCall> calls, std::vector<Tool> tools,
                                 const CallOptions& options = default_options(),
                                 const Engine& engine = default_engine());

// The stream form of run_tool_calls. For each call: ToolExecutionStarted when it starts, ToolExecutionCompleted when it
// has ended, then one of ToolResultEncoded, AskUserRequested and ToolHalt. If run_tool_calls would fail, the only event
// is an ErrorEvent.
EventStream stream_tool_calls(std::vector<ToolCall> calls, std::vector<Tool> tools,
                              const CallOptions& options = default_options(), const Engine& engine = default_engine());

}  // namespace allm
