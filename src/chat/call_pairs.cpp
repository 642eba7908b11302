#include "chat/call_pairs.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace allm {

std::size_t clean_cut(const MessageList& messages, std::size_t wanted) {
  // For each result, the index of the message with its call: the last earlier message with an unanswered call of that
  // id.
  std::vector<std::size_t> call_of(messages.size());
  std::unordered_map<std::string_view, std::vector<std::size_t>> open;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Message& message = messages[i];
    call_of[i] = i;
    for (const ToolCall& call : message.tool_calls) open[call.id].push_back(i);
    if (message.role != Role::tool || !message.tool_call_id) continue;
    const auto found = open.find(*message.tool_call_id);
    if (found == open.end() || found->second.empty()) continue;
    call_of[i] = found->second.back();
    found->second.pop_back();
  }
  // Moving the cut to a lower index may include results whose calls have a still lower index.
  std::size_t cut = std::min(wanted, messages.size());
  for (std::size_t i = messages.size(); i-- > cut;) cut = std::min(cut, call_of[i]);
  return cut;
}

std::size_t content_bytes(const Content& content) {
  constexpr std::size_t kOtherPart = 4'000;
  if (const auto* text = std::get_if<std::string>(&content)) return text->size();
  std::size_t bytes = 0;
  for (const Part& part : std::get<std::vector<Part>>(content)) {
    const auto* text = std::get_if<TextPart>(&part);
    bytes += text != nullptr ? text->text.size() : kOtherPart;
  }
  return bytes;
}

std::size_t message_bytes(const Message& message) {
  std::size_t bytes = content_bytes(message.content);
  for (const ToolCall& call : message.tool_calls) {
    bytes += call.name.size() + (call.raw_arguments
                                     ? call.raw_arguments->size()
                                     : call.arguments.dump(-1, ' ', false, Json::error_handler_t::replace).size());
  }
  return bytes;
}

}  // namespace allm
