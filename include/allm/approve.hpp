// approve: runs or denies tool calls that the approval gate suspended, and continues the loop. For sessions there is
// session_approve. All functions are safe to call from any thread.
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
  // allow() and allow_with(arguments) run the call, deny(reason) answers it with a denial, suspend() leaves it pending.
  // The default denies the call.
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
// If a decision is wrong, nothing runs and an error is returned: SessionError `unknown_tool_call_id` if an id is not
// pending or is already answered in the thread; ValidationError `invalid_option` if there are two decisions on one
// call, if arguments are not a JSON object, or if a manual call is allowed (the program gives the result of such a call
// itself). If a model call fails after calls have run, the run ends with halted_reason "error" and keeps their results.
// approve blocks.
Result<ChatResult> approve(const Engine& engine, Thread thread, std::vector<PendingToolCall> pending,
                           std::vector<CallDecision> decisions, const CallOptions& options = default_options());
// The stream form of approve. If the program drops the stream, the only results that it has are those in the
// ToolResultEncoded events that it has read.
ChatStream stream_approve(const Engine& engine, Thread thread, std::vector<PendingToolCall> pending,
                          std::vector<CallDecision> decisions, const CallOptions& options = default_options());

}  // namespace allm
