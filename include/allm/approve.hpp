// Decisions on tool calls that the approval gate suspended: allowed calls run, and the loop continues. For sessions
// there is session_approve. Safe to call from any thread.
//
//   auto result = allm::approve(engine, thread, pending, {{"call_1", allm::Approval::allow()}});
#pragma once

#include <string>
#include <vector>

#include "allm/approval.hpp"
#include "allm/engine.hpp"
#include "allm/options.hpp"
#include "allm/pending_call.hpp"
#include "allm/result.hpp"
#include "allm/result_stream.hpp"

namespace allm {

// The decision on one pending call, made by a person or the program.
struct CallDecision {
  std::string tool_call_id;
  // allow() and allow_with(arguments) run the call, deny(reason) answers it, suspend() leaves it pending. The default
  // denies it.
  Approval approval = {};
};

// Runs the allowed calls, answers the denied calls and continues the loop as `chat` does. `thread` and `pending` are
// those of the run that left the calls pending: ChatResult::thread and manual_tool_calls(). The gate is not called for
// these calls again; it decides on the calls of later steps.
//
// The results are appended to the thread in the order of `pending`, and shown as events; ChatResult::steps has only the
// model steps that follow. If calls are still pending (undecided, suspended again, or manual), the run ends with
// `manual_tool_calls` and no model is called. If an approved call ends the run (a question, a halt, a tool error under
// the policy `halt`), or the run is cancelled, the calls that are still pending are answered as `not_run`.
//
// Nothing runs and nothing changes if a decision is wrong. The error is SessionError `unknown_tool_call_id` for an id
// that is not pending or is already answered in the thread, and ValidationError `invalid_option` for two decisions on
// one call, for arguments that are not a JSON object, and for an allowed manual call: the program gives the result of
// such a call itself. Once calls have run, an error of a model call ends the run with halted_reason "error" and keeps
// their results. Blocks.
Result<ChatResult> approve(const Engine& engine, Thread thread, std::vector<PendingToolCall> pending,
                           std::vector<CallDecision> decisions, const CallOptions& options = default_options());
// The same as a stream of events. If the program drops the stream, it has the results that it has read as
// ToolResultEncoded.
ChatStream stream_approve(const Engine& engine, Thread thread, std::vector<PendingToolCall> pending,
                          std::vector<CallDecision> decisions, const CallOptions& options = default_options());

}  // namespace allm
