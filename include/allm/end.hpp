// Why a step or a run ended, as a value:
//
//   if (const auto* question = std::get_if<allm::ended::AskUser>(&result->end)) show(question->question);
//
// In JSON the same facts are in `halted_reason` and `metadata`; docs/session-format.md lists them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "allm/error.hpp"
#include "allm/json.hpp"
#include "allm/pending_call.hpp"

namespace allm {

// The reasons as text: the possible values of halted_reason. A handler may also end a run with a reason of its own.
namespace halted {
inline constexpr std::string_view completed = "completed";
inline constexpr std::string_view error = "error";
inline constexpr std::string_view max_turns = "max_turns";
inline constexpr std::string_view halt_when = "halt_when";
inline constexpr std::string_view ask_user = "ask_user";
inline constexpr std::string_view tool_error = "tool_error";
inline constexpr std::string_view manual_tool_calls = "manual_tool_calls";
inline constexpr std::string_view cancelled = "cancelled";
// The next five: the run reached a limit of its options. The thread ends with the last finished step and can be
// continued.
inline constexpr std::string_view run_timeout = "run_timeout";
inline constexpr std::string_view max_total_tokens = "max_total_tokens";
inline constexpr std::string_view max_cost = "max_cost";
inline constexpr std::string_view max_tool_calls = "max_tool_calls";
inline constexpr std::string_view max_repeated_failures = "max_repeated_failures";
}  // namespace halted

namespace ended {

// A run has its answer. A step has finished as usual: with an answer, or with tool results for the next step.
struct Completed {
  bool operator==(const Completed&) const = default;
};

// A tool asked the user a question.
struct AskUser {
  std::string question = {};
  Json options = empty_object();
  std::string tool_call_id = {};
  std::string tool_name = {};  // not in JSON; from_json takes it from the call with this id in the response
  bool operator==(const AskUser&) const;
};

// A tool handler ended the run.
struct Halted {
  std::string reason = {};  // the handler's own reason, never a name in allm::halted
  Json result = null_json();
  std::string tool_call_id = {};
  bool operator==(const Halted&) const;
};

// A tool failed, and the option `on_tool_error` ended the run.
struct ToolError {
  std::string tool_call_id = {};
  std::optional<Error> policy_error = std::nullopt;  // set if the function in `on_tool_error` itself failed
  bool operator==(const ToolError&) const;
};

// Tool calls wait for the program.
struct Manual {
  // Calls of manual tools, and calls that the approval gate suspended. Empty in manual mode (Mode::manual): then all
  // calls of the response wait.
  std::vector<PendingToolCall> calls = {};
  std::int64_t turn_index = 0;  // the index of the step in the run; always 0 in StepResult::end
  bool operator==(const Manual&) const;
};

// The run reached a limit of its options.
struct Limit {
  enum class Which : std::uint8_t { run_timeout, max_total_tokens, max_cost, max_tool_calls, max_repeated_failures };
  Which which = Which::run_timeout;
  // The limit that the option set: a double for max_cost, milliseconds for run_timeout.
  std::variant<std::int64_t, double> value = std::int64_t{0};
  bool cost_unknown = false;  // for max_cost: true if the run ended because the cost of a model call is unknown
  // For max_total_tokens and max_cost: the worst case of the next model call, which was not sent because it does not
  // fit into what is left. nullopt if the limit itself was reached.
  std::optional<std::variant<std::int64_t, double>> needed = std::nullopt;
  bool budget = false;            // whether it is the limit of CallOptions::budget, not one of the run's own
  std::string tool_name = {};     // for max_repeated_failures: the tool that failed
  std::string tool_call_id = {};  // for max_repeated_failures: its last call
  bool operator==(const Limit&) const;
};

// The run made `max_turns` model calls and would need another one.
struct MaxTurns {
  std::int64_t max_turns = 0;
  bool operator==(const MaxTurns&) const = default;
};

// The option `halt_when` ended the run after this step.
struct HaltWhen {
  std::int64_t step_index = 0;
  bool operator==(const HaltWhen&) const = default;
};

// A stop token of CallOptions::cancel ended the step or the run. StreamCollector also uses this end for a run that was
// not read to its end.
struct Cancelled {
  bool operator==(const Cancelled&) const = default;
};

// The model's message was interrupted, or a step after the first failed. In StepResult::end, `error` equals
// Response::error.
struct Failed {
  std::optional<Error> error = std::nullopt;
  bool operator==(const Failed&) const;
};

}  // namespace ended

using StepEnd = std::variant<ended::Completed, ended::AskUser, ended::Halted, ended::ToolError, ended::Manual,
                             ended::Cancelled, ended::Failed>;
using RunEnd = std::variant<ended::Completed, ended::AskUser, ended::Halted, ended::ToolError, ended::Manual,
                            ended::Cancelled, ended::Failed, ended::Limit, ended::MaxTurns, ended::HaltWhen>;

// The reason as text: one of allm::halted, or the reason of a handler that called halt().
std::string halted_reason(const StepEnd& end);
std::string halted_reason(const RunEnd& end);

}  // namespace allm
