#include "engine/call_watch.hpp"

#include <algorithm>

namespace allm {

bool CallWatch::add_piece(const std::string& id, std::size_t bytes) {
  if (!streamed_.add_bytes(bytes)) return false;
  // Most pieces belong to the call of the piece before.
  if (id == last_id_ && !ids_.empty()) return true;
  last_id_ = id;
  return !ids_.insert(id).second || (streamed_.add_call() && streamed_.add_bytes(id.size()));
}

bool CallWatch::add_call(const ToolCall& call) {
  const std::size_t arguments = call.raw_arguments ? call.raw_arguments->size() : 0;
  return completed_.add_call() && completed_.add_bytes(call.id.size() + call.name.size() + arguments) &&
         completed_.add_values(call.arguments);
}

bool CallWatch::add(const Event& event) {
  if (const auto* delta = event.get_if<ToolCallDelta>()) return add_piece(delta->id, delta->arguments_delta.size());
  if (const auto* started = event.get_if<ToolCallStarted>()) return add_piece(started->id, started->name.size());
  if (const auto* whole = event.get_if<ToolCallCompleted>())
    return add_piece(whole->call.id, 0) && add_call(whole->call);
  const auto* message = event.get_if<MessageCompleted>();
  if (message == nullptr) return true;
  // A message lists the calls again that were completed before, in any order.
  CallMeter listed(completed_.limits());
  std::swap(listed, completed_);
  return std::ranges::all_of(message->message.tool_calls, [this](const ToolCall& call) { return add_call(call); });
}

}  // namespace allm
