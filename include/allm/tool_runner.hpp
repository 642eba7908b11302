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

// Runs every call and waits for all of them. Fails with EngineError `unknown_tool` if a call names
// no tool (nothing runs then), and with ValidationError `invalid_option`. Everything that goes wrong
// inside a call is in its message.
Result<ToolBatch> run_tool_calls(std::vector<ToolCall> calls, std::vector<Tool> tools,
                                 const CallOptions& options = default_options(),
                                 const Engine& engine = default_engine());

// The same as a stream of events: ToolExecutionStarted when a call starts, ToolExecutionCompleted when it has ended,
// then one of ToolResultEncoded, AskUserRequested and ToolHalt. A failure as above is a single ErrorEvent.
EventStream stream_tool_calls(std::vector<ToolCall> calls, std::vector<Tool> tools,
                              const CallOptions& options = default_options(), const Engine& engine = default_engine());

}  // namespace allm
