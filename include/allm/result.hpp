// Results of steps and runs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allm/response.hpp"
#include "allm/thread.hpp"

namespace allm {

// Why a run ended. The set is open: a handler may end a run with a reason of its own.
namespace halted {
inline constexpr std::string_view completed = "completed";
inline constexpr std::string_view error = "error";
inline constexpr std::string_view max_turns = "max_turns";
inline constexpr std::string_view halt_when = "halt_when";
inline constexpr std::string_view ask_user = "ask_user";
inline constexpr std::string_view tool_error = "tool_error";
inline constexpr std::string_view manual_tool_calls = "manual_tool_calls";
inline constexpr std::string_view cancelled = "cancelled";
// The run reached a limit of its options; the thread is as its last finished step left it, and can be continued.
inline constexpr std::string_view run_timeout = "run_timeout";
inline constexpr std::string_view max_total_tokens = "max_total_tokens";
inline constexpr std::string_view max_cost = "max_cost";
inline constexpr std::string_view max_tool_calls = "max_tool_calls";
inline constexpr std::string_view max_repeated_failures = "max_repeated_failures";
}  // namespace halted

// One model call and the tools it led to.
struct StepResult {
  Thread thread = {};  // after the step
  Response response = {};
  std::vector<Message> tool_results = {};  // tool messages in the order of the calls
  bool done = false;                       // nothing is left to run; "done?" in JSON
  // Calls of manual tools, waiting for the program. In JSON they are `metadata.manual_tool_calls`.
  std::vector<ToolCall> manual_tool_calls = {};
  // {"mode": "manual"} when the whole loop is manual; {"halted_reason": "cancelled"} when the run was
  // cancelled during its tools; the halt's facts when a tool ended the step:
  // halted_reason, halt_tool_call_id, halt_result, pending_question, pending_tool_call_id,
  // ask_user_opts, on_tool_error_exception.
  Json metadata = empty_object();
  Json unknown_fields = null_json();
  bool operator==(const StepResult&) const;
};

// A whole run.
struct ChatResult {
  Thread thread = {};
  std::optional<Response> final_response = std::nullopt;
  std::string halted_reason = std::string(halted::completed);
  std::optional<std::string> pending_question = std::nullopt;
  std::optional<std::string> pending_tool_call_id = std::nullopt;
  std::vector<StepResult> steps = {};
  Usage usage = {};  // summed over the run
  // What ended the run, for halted_reason "error". In JSON it is `metadata.error`.
  std::optional<Error> error = std::nullopt;
  // As in StepResult.
  std::vector<ToolCall> manual_tool_calls = {};
  // By halted_reason: max_turns {max_turns}; halt_when {halt_when_step_index}; ask_user
  // {pending_question, pending_tool_call_id, ask_user_opts}; tool_error {halt_tool_call_id,
  // on_tool_error_exception?}; manual {manual_turn_index}; a handler's own {halt_tool_call_id,
  // halt_result}; a limit of the options {<its name>: the limit}, with {cost_unknown: true} where a cost could not be
  // told and {tool_name, tool_call_id} of a call that failed too often. A finalize run adds {structured_finalize:
  // {pass_1_halted, pass_2_error?}}.
  Json metadata = empty_object();
  Json unknown_fields = null_json();

  // The final answer's text, "" if there is none.
  std::string text() const;

  bool operator==(const ChatResult&) const;
};

}  // namespace allm
