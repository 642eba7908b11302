// Tool calls that a run left to the program. Plain values.
#pragma once

#include <cstdint>
#include <string_view>

#include "allm/message.hpp"

namespace allm {

// Why a call is pending.
enum class PendingKind : std::uint8_t {
  manual,     // no handler runs it: the program gives the result (submit_tool_result)
  suspended,  // the approval gate suspended it: a decision lets it run or denies it (session_approve)
};
std::string_view to_string(PendingKind kind);

// A tool call and why it is pending. In JSON it is a ToolCall, with the member "pending": "suspended" if it is
// suspended.
struct PendingToolCall : ToolCall {
  PendingKind kind = PendingKind::manual;
  bool operator==(const PendingToolCall&) const;
};

}  // namespace allm
