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
  bool done = false;                       // nothing is left to run; "done?" in JSON
  // Why the step ended; Failed exactly if the response's finish_reason is `error` and no tool ended the step.
  StepEnd end = {};
  // Further data that is not part of `end`.
  Json metadata = empty_object();
  Json unknown_fields = null_json();

  // The calls of a Manual end; else none.
  const std::vector<PendingToolCall>& manual_tool_calls() const;
  // `metadata` and the facts of the end, as JSON has them: {"mode": "manual"} when the whole loop is manual, else
  // halted_reason and by reason: ask_user {pending_question, pending_tool_call_id, ask_user_opts}; tool_error
  // {halt_tool_call_id, on_tool_error_exception?}; a handler's own {halt_tool_call_id, halt_result}; and
  // manual_tool_calls.
  Json full_metadata() const;
  bool operator==(const StepResult&) const;
};

// A whole run.
struct ChatResult {
  Thread thread = {};
  std::optional<Response> final_response = std::nullopt;
  RunEnd end = {};
  std::vector<StepResult> steps = {};
  Usage usage = {};  // of all model calls: steps, prepare_step, agents that are tools of the run
  // Further data that is not part of `end`. A run with structured_finalize has {structured_finalize: {pass_1_halted,
  // pass_1_response?, pass_2_error?}}. If the last message was cut off, its tool calls are not run and not in the
  // thread; {dropped_tool_calls} lists them.
  Json metadata = empty_object();
  Json unknown_fields = null_json();

  // The final answer's text, "" if there is none.
  std::string text() const;

  // The final answer read into a described struct. Fails as unwrap() does, or as Response::as() does. Defined in
  // allm/structured.hpp, which allm/chat.hpp includes.
  template <class T>
  Result<T> as() const;

  // The end as text, "completed" and so on.
  std::string halted_reason() const { return allm::halted_reason(end); }
  // The error that ended the run if the end is Failed; else null.
  const Error* error() const;
  // The question that waits for an answer, if the end is AskUser; else null.
  const std::string* pending_question() const;
  // The calls of a Manual end; else none.
  const std::vector<PendingToolCall>& manual_tool_calls() const;
  // `metadata` and the facts of the end, as JSON has them. By reason: max_turns {max_turns}; halt_when
  // {halt_when_step_index}; ask_user {pending_question, pending_tool_call_id, ask_user_opts}; tool_error
  // {halt_tool_call_id, on_tool_error_exception?}; manual_tool_calls {manual_turn_index, manual_tool_calls?}; error
  // {error?}; a handler's own {halt_tool_call_id, halt_result}; a limit of the options {<its name>: the limit}, with
  // {cost_unknown: true} if a cost is unknown and {tool_name, tool_call_id} of a call that failed too often.
  Json full_metadata() const;

  bool operator==(const ChatResult&) const;
};

// The text of a run that completed with a whole answer. Fails with the run's own error if it has one; StreamError
// `cancelled` if the run was cancelled; StreamError `timeout` if it reached run_timeout; AdapterError `content_filter`
// if a filter cut the answer off; StreamError `adapter_error` if the answer was cut off by its length or ended in
// another unusual way; SessionError `invalid_status_for_operation` if the run waits for the user or for pending calls,
// or was ended by a tool, by halt_when or by a limit. Except for the run's own error, the error's metadata has
// `halted_reason` and the facts of full_metadata().
Result<std::string> unwrap(const ChatResult& result);

}  // namespace allm
