#include "providers/anthropic/kept_blocks.hpp"

#include <string>
#include <utility>

#include "providers/content.hpp"
#include "providers/provider_json.hpp"

namespace allm {
namespace {

bool is_call(const Json& block, const ToolCall& call) {
  const Json* input = find_member(block, "input");
  return text_member(block, "id") == call.id && text_member(block, "name") == call.name && input != nullptr &&
         json_equal(*input, call.arguments);
}

// Whether the blocks have exactly the text and the calls of the message.
bool have_same_content(const Json& blocks, const Message& message) {
  std::string text;
  std::size_t calls = 0;
  for (const Json& block : blocks) {
    const std::string_view type = text_member(block, "type");
    if (type.empty()) return false;
    if (type == "text") text += text_member(block, "text");
    if (type != "tool_use") continue;
    if (calls == message.tool_calls.size() || !is_call(block, message.tool_calls[calls])) return false;
    ++calls;
  }
  return calls == message.tool_calls.size() && text == message.text();
}

}  // namespace

void keep_blocks(Message& message, Json blocks) {
  if (blocks.empty() || json_equal(blocks, plain_blocks(message))) return;
  message.metadata["anthropic"] = std::move(blocks);
}

const Json* kept_blocks(const Message& message) {
  const Json* blocks = find_member(message.metadata, "anthropic");
  if (blocks == nullptr || !blocks->is_array() || blocks->empty()) return nullptr;
  return have_same_content(*blocks, message) ? blocks : nullptr;
}

Json plain_blocks(const Message& message) {
  Json blocks = Json::array();
  if (std::string text = joined_text(message.content); !text.empty()) {
    blocks.push_back({{"type", "text"}, {"text", std::move(text)}});
  }
  for (const ToolCall& call : message.tool_calls) {
    blocks.push_back({{"type", "tool_use"},
                      {"id", call.id},
                      {"name", call.name},
                      {"input", call.arguments.is_object() ? call.arguments : Json::object()}});
  }
  return blocks;
}

}  // namespace allm
