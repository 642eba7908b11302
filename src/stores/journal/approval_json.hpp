// Decisions on tool calls as JSON: {"decision": "allow", "arguments": …}, {"decision": "deny", "reason": …},
// {"decision": "suspend"}. Pure functions.
#pragma once

#include <optional>

#include "allm/approval.hpp"
#include "allm/json.hpp"

namespace allm {

// A decision that is none is written as a denial, which is what it means.
Json approval_to_json(const Approval& approval);
// Ignores other members; nullopt for anything that approval_to_json does not write.
std::optional<Approval> approval_from_json(const Json& json);

}  // namespace allm
