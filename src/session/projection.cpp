#include "session/projection.hpp"

#include <string_view>
#include <utility>
#include <vector>

#include "allm/serialize.hpp"

namespace allm {
namespace {

Json calls_value(const std::vector<ToolCall>& calls) {
  Json list = Json::array();
  for (const ToolCall& call : calls) list.push_back(to_json_value(call));
  return list;
}

void settle(Session& session, const Thread& thread, const Json& metadata) {
  session.thread = thread;
  session.pending_tool_calls.clear();
  session.pending_question.reset();
  session.pending_tool_call_id.reset();
  for (const auto& [key, value] : metadata.items()) session.metadata[key] = value;
}

void await_user(Session& session, const Json& metadata) {
  session.status = SessionStatus::awaiting_user;
  session.pending_question = metadata.at("pending_question").get<std::string>();
  session.pending_tool_call_id = metadata.at("pending_tool_call_id").get<std::string>();
}

void await_tools(Session& session, std::vector<ToolCall> calls) {
  session.status = SessionStatus::awaiting_tools;
  session.pending_tool_calls = std::move(calls);
}

// What went wrong, in the order of how much it says.
void break_off(Session& session, const Json& metadata) {
  session.status = SessionStatus::error;
  Json error = metadata;
  for (const char* key : {"on_tool_error_exception", "error"}) {
    if (const auto found = metadata.find(key); found != metadata.end()) {
      error = *found;
      break;
    }
  }
  session.metadata["error"] = std::move(error);
}

bool halted_with(const StepResult& result, std::string_view reason) {
  const auto found = result.metadata.find("halted_reason");
  return found != result.metadata.end() && *found == reason;
}

}  // namespace

Json full_metadata(const ChatResult& result) {
  Json metadata = result.metadata;
  if (result.error) metadata["error"] = to_json_value(*result.error);
  if (!result.manual_tool_calls.empty()) metadata["manual_tool_calls"] = calls_value(result.manual_tool_calls);
  return metadata;
}

Json full_metadata(const StepResult& result) {
  Json metadata = result.metadata;
  if (result.response.error) metadata["error"] = to_json_value(*result.response.error);
  if (!result.manual_tool_calls.empty()) metadata["manual_tool_calls"] = calls_value(result.manual_tool_calls);
  return metadata;
}

Session after_chat(Session session, const ChatResult& result) {
  const Json metadata = full_metadata(result);
  settle(session, result.thread, metadata);
  if (result.halted_reason == halted::ask_user) {
    await_user(session, metadata);
  } else if (result.halted_reason == halted::manual_tool_calls) {
    std::vector<ToolCall> calls = result.manual_tool_calls;
    if (calls.empty() && result.final_response) calls = result.final_response->tool_calls;
    await_tools(session, std::move(calls));
  } else if (result.halted_reason == halted::tool_error || result.halted_reason == halted::error) {
    break_off(session, metadata);
  } else if (result.halted_reason == halted::cancelled) {
    session.status = SessionStatus::idle;
  } else {
    session.status = SessionStatus::completed;
  }
  return session;
}

Session after_step(Session session, const StepResult& result) {
  const Json metadata = full_metadata(result);
  settle(session, result.thread, metadata);
  if (halted_with(result, halted::ask_user)) {
    await_user(session, metadata);
  } else if (halted_with(result, halted::tool_error)) {
    break_off(session, metadata);
  } else if (!result.manual_tool_calls.empty()) {
    await_tools(session, result.manual_tool_calls);
  } else if (result.metadata.contains("mode")) {
    await_tools(session, result.response.tool_calls);
  } else if (result.response.finish_reason == FinishReason::error) {
    break_off(session, metadata);
  } else if (halted_with(result, halted::cancelled)) {
    session.status = SessionStatus::idle;
  } else {
    session.status = result.done ? SessionStatus::completed : SessionStatus::idle;
  }
  return session;
}

}  // namespace allm
