// Asks the approval gate about the calls of a turn.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "allm/approval.hpp"

#include "engine/run.hpp"

namespace allm {

// One decision a call, in their order; none at all if the run has no gate. Each allows, denies or suspends, and
// arguments that one gives are an object that JSON can carry: whatever else the gate does denies the calls concerned.
// Never throws. On the consumer's thread.
std::vector<Approval> ask_gate(const Run& run, std::span<const ToolCall> calls);

// Whether the call only asks for a description of tools, which is answered whatever the gate says.
bool needs_no_approval(const Run& run, const ToolCall& call);

// The call with the arguments that the gate put in the place of the model's, if it did.
ToolCall approved_call(ToolCall call, const Approval& approval);

// What a denied call comes to.
ToolFailure denied(const ToolCall& call, const Approval& approval);

}  // namespace allm
