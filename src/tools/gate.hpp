// Decisions on the calls of a step: asks the approval gate, and sorts the calls.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "allm/approval.hpp"
#include "allm/pending_call.hpp"

#include "engine/run.hpp"

namespace allm {

// The only place that asks the run's gate: one decision for each call, in their order; no decisions if the run has no
// gate or is cancelled. Every decision is valid: calls for which the gate throws or decides something invalid are
// denied. `tool_help` is always allowed. Never throws. Only for the consumer's thread.
std::vector<Approval> ask_gate(const Run& run, std::span<const ToolCall> calls);

// The error message for a decision whose arguments are invalid; nullopt for a valid one.
std::optional<std::string> arguments_error(const Approval& decision);

// The calls of a step, sorted by what happens to them.
struct SortedCalls {
  std::vector<bool> is_pending = {};          // by call: left to the program
  std::vector<PendingToolCall> pending = {};  // with the arguments of the decision, if it has some
  std::vector<ToolCall> runnable = {};        // run, or answered as denied
  std::vector<Approval> decisions = {};       // on the runnable calls; empty if all are allowed
};
// `decisions` has one element for each call, or is empty, which allows all. A call is pending if it is suspended, if it
// is allowed and its tool is manual, or if it was interrupted and its tool wants a person to decide.
SortedCalls sort_calls(const Run& run, std::span<const ToolCall> calls, std::span<const Approval> decisions);

// The call, with the decision's arguments if it replaces the model's.
ToolCall approved_call(ToolCall call, const Approval& approval);

// The failure that answers a denied call.
ToolFailure denied(const ToolCall& call, const Approval& approval);

}  // namespace allm
