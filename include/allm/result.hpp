// Results of steps and runs. Plain values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "allm/end.hpp"
#include "allm/response.hpp"
#include "allm/thread.hpp"

namespace allm {

// One model call and the tool calls that it asked for.
struct StepResult {
  Thread thread = {};  // after the step
  Response response = {};
  std::vector<Message> tool_results = {};  // tool messages in the order of the calls
  // Whether the step has its final message or was ended: no call is pending, and no model call has to follow. In JSON
  // its name is "done?".
  bool done = false;
  // Why the step ended; Failed exactly if the response's finish_reason is `error` and no tool ended the step.
  StepEnd end = {};
  // Further data that is not part of `end`.
  Json metadata = empty_object();
  Json unknown_fields = null_json();

  // The pending calls if the end is ended::Manual; else empty.
  const std::vector<PendingToolCall>& manual_tool_calls() const;
  // `metadata` together with the facts of `end`, as they are in JSON. A question mark means that the member may be
  // missing:
  // - Completed, Failed: no facts
  // - AskUser: halted_reason, pending_question, pending_tool_call_id, ask_user_opts
  // - Halted: halted_reason, halt_tool_call_id, halt_result
  // - ToolError: halted_reason, halt_tool_call_id, on_tool_error_exception?
  // - Manual: manual_tool_calls; in manual mode {"mode": "manual"} instead
  // - Cancelled: halted_reason
  Json full_metadata() const;
  bool operator==(const StepResult&) const;
};

// A whole run.
struct ChatResult {
  Thread thread = {};                                     // after the run
  std::optional<Response> final_response = std::nullopt;  // the last response; nullopt if there is none
  RunEnd end = {};
  std::vector<StepResult> steps = {};
  Usage usage = {};  // of all model calls: those of the steps, of prepare_step and of agents that are tools of the run
  // Further data that is not part of `end`. A run with structured_finalize has {structured_finalize: {pass_1_halted,
  // pass_1_response?, pass_2_error?}}; a question mark means that the member may be missing. If the last message was
  // cut off, its tool calls are not run and are not in the thread; the member dropped_tool_calls lists them.
  Json metadata = empty_object();
  Json unknown_fields = null_json();

  // The final answer's text, "" if there is none.
  std::string text() const;

  // Reads the final answer into a described struct (allm/describe.hpp). Fails as unwrap() or Response::as() does.
  // Defined in allm/structured.hpp, which allm/chat.hpp includes.
  template <class T>
  Result<T> as() const;

  // The end as text: a name in allm::halted, or the reason of a handler.
  std::string halted_reason() const { return allm::halted_reason(end); }
  // The next three functions return parts of `end`, which are valid as long as `end` does not change.

  // The error if the end is ended::Failed; else null.
  const Error* error() const;
  // The question for the user if the end is ended::AskUser; else null.
  const std::string* pending_question() const;
  // The pending calls if the end is ended::Manual; else empty.
  const std::vector<PendingToolCall>& manual_tool_calls() const;
  // `metadata` together with the facts of `end`, as they are in JSON. The members depend on halted_reason; a question
  // mark means that the member may be missing:
  // - max_turns: max_turns
  // - halt_when: halt_when_step_index
  // - ask_user: pending_question, pending_tool_call_id, ask_user_opts
  // - tool_error: halt_tool_call_id, on_tool_error_exception?
  // - manual_tool_calls: manual_turn_index, manual_tool_calls?
  // - error: error?
  // - a limit of the options: the limit under the option's name, cost_unknown?, tool_name?, tool_call_id?
  // - a handler's own reason: halt_tool_call_id, halt_result
  Json full_metadata() const;

  bool operator==(const ChatResult&) const;
};

// Returns the text of a run that completed with a whole answer. Otherwise fails:
// - with the run's own error, if it has one;
// - with StreamError `cancelled` if the run was cancelled, and StreamError `timeout` if it reached run_timeout;
// - with AdapterError `content_filter` if a filter cut the answer off;
// - with StreamError `adapter_error` if the answer was cut off by its length or ended in another unusual way;
// - with SessionError `invalid_status_for_operation` if the run waits for the user or for pending calls, or was
//   ended by a tool, by halt_when or by another limit.
// Except for the run's own error, the metadata of the error has `halted_reason` and the facts of full_metadata().
Result<std::string> unwrap(const ChatResult& result);

}  // namespace allm
