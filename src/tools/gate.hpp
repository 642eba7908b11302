// Decisions on the calls of a turn: asks the approval gate, and sorts the calls.
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
// gate or is cancelled. Each decision allows, denies or suspends, and its arguments are an object that JSON can carry:
// any other behaviour of the gate denies the calls concerned. `tool_help` is always allowed. Never throws. For the
// consumer's thread.
std::vector<Approval> ask_gate(const Run& run, std::span<const ToolCall> calls);

// What is wrong with the arguments that a decision gives, if something is.
std::optional<std::string> arguments_problem(const Approval& decision);

// The calls of a turn, sorted by what happens to them.
struct SortedCalls {
  std::vector<bool> is_pending = {};          // by call: left to the program
  std::vector<PendingToolCall> pending = {};  // with the arguments that a decision gave
  std::vector<ToolCall> runnable = {};        // run, or answered as denied
  std::vector<Approval> decisions = {};       // on the runnable ones; empty if all are allowed
};
// `decisions` are one for each call, or none, which allows all. A call is pending if it is suspended, or allowed and
// its tool is manual.
SortedCalls sort_calls(const Run& run, std::span<const ToolCall> calls, std::span<const Approval> decisions);

// The call with the arguments that the decision puts in the place of the model's, if it does.
ToolCall approved_call(ToolCall call, const Approval& approval);

// The failure that answers a denied call.
ToolFailure denied(const ToolCall& call, const Approval& approval);

}  // namespace allm
