// Sessions as data: a conversation that can be saved, moved and resumed. The operations on them
// are in session_ops.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allm/thread.hpp"

namespace allm {

enum class SessionStatus : std::uint8_t {
  idle,            // may go on
  completed,       // gave its answer; may go on
  awaiting_user,   // a tool asked a question; answer with session_reply
  awaiting_tools,  // manual calls are pending; answer with submit_tool_result
  error,           // broke; session_recover takes it back to its last finished step
};

std::string_view to_string(SessionStatus status);

struct Session {
  std::optional<std::string> id = std::nullopt;
  Thread thread = {};
  SessionStatus status = SessionStatus::idle;
  std::vector<ToolCall> pending_tool_calls = {};
  std::optional<std::string> pending_question = std::nullopt;
  std::optional<std::string> pending_tool_call_id = std::nullopt;
  Json context = empty_object();  // handed to tool handlers
  Json metadata = empty_object();
  Json unknown_fields = null_json();
  bool operator==(const Session&) const;
};

}  // namespace allm
