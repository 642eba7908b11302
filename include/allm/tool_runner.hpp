// The tool runner without a model: runs a batch of calls in parallel, with deadlines.
#pragma once

#include <optional>
#include <vector>

#include "allm/engine.hpp"
#include "allm/options.hpp"
#include "allm/stream.hpp"

namespace allm {

struct ToolBatch {
  std::vector<Message> messages = {};  // one tool message per call, in the order of the calls
  // Why the run should end, if a call asked for it: AskUser, Halted or ToolError of the call of the lowest index.
  std::optional<StepEnd> halt = std::nullopt;
  bool operator==(const ToolBatch&) const;
};

// Runs every call and blocks until all have ended. The engine's own tools are not used. Before any call runs, it fails
// with EngineError `unknown_tool` if a call names a tool that does not exist (unless `on_unknown_tool` is report), and
// with a ValidationError or EngineError `invalid_engine` if an option or a tool is wrong. A failure of a call is
// reported in its tool message. Safe to call from any thread.
Result<ToolBatch> run_tool_calls(std::vector<ToolCall> calls, std::vector<Tool> tools,
                                 const CallOptions& options = default_options(),
                                 const Engine& engine = default_engine());

// The same as a stream of events: ToolExecutionStarted when a call starts, ToolExecutionCompleted when it has ended,
// then one of ToolResultEncoded, AskUserRequested and ToolHalt. A failure as above is a single ErrorEvent.
EventStream stream_tool_calls(std::vector<ToolCall> calls, std::vector<Tool> tools,
                              const CallOptions& options = default_options(), const Engine& engine = default_engine());

}  // namespace allm
