// Sessions: conversations that can be saved, moved to another process and resumed. Plain values; allm/session_ops.hpp
// has the operations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allm/pending_call.hpp"
#include "allm/thread.hpp"

namespace allm {

enum class SessionStatus : std::uint8_t {
  idle,            // can be continued
  completed,       // has an answer; can be continued
  awaiting_user,   // a tool asked a question; answer with session_reply
  awaiting_tools,  // calls are pending: submit_tool_result answers them, session_approve decides on suspended ones
  error,           // a run failed; session_recover returns the session as it was after its last finished step
};

std::string_view to_string(SessionStatus status);

struct Session {
  std::optional<std::string> id = std::nullopt;
  Thread thread = {};
  SessionStatus status = SessionStatus::idle;
  std::vector<PendingToolCall> pending_tool_calls = {};
  std::optional<std::string> pending_question = std::nullopt;
  std::optional<std::string> pending_tool_call_id = std::nullopt;  // the call that asked pending_question
  Json context = empty_object();  // the program's own data; handlers get it as ToolContext::context()
  Json metadata = empty_object();
  Json unknown_fields = null_json();
  bool operator==(const Session&) const;
};

}  // namespace allm
