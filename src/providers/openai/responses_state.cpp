#include "providers/openai/responses_state.hpp"

#include <algorithm>
#include <string>

#include "providers/content.hpp"
#include "providers/openai/request.hpp"
#include "providers/provider_json.hpp"

namespace allm::openai_wire {
namespace {

// Says whether a message is a comment on the way to the answer, or the answer.
constexpr std::string_view kPhase = "phase";

bool is_reasoning(const Json& item) { return text_member(item, "type") == "reasoning"; }
// Whether the item says more than the message's text and calls.
bool is_state(const Json& item) { return is_reasoning(item) || find_member(item, kPhase) != nullptr; }

Json without_nulls(const Json& item) {
  // The keys are unique already, so none has to be looked for.
  Json::object_t kept;
  kept.reserve(item.size());
  for (const auto& [name, value] : item.items()) {
    if (!value.is_null()) kept.emplace_back(name, value);
  }
  return kept;
}

}  // namespace

Json call_item(std::string_view call_id, std::string_view name, std::string_view arguments) {
  return {{"type", "function_call"}, {"call_id", call_id}, {"name", name}, {"arguments", arguments}};
}

Json text_item(std::string_view text) { return {{"role", "assistant"}, {"content", text}}; }

std::string item_text(const Json& item) {
  std::string text;
  const Json* content = find_member(item, "content");
  if (content == nullptr || !content->is_array()) return text;
  for (const Json& part : *content) {
    if (text_member(part, "type") == "output_text") text += text_member(part, "text");
  }
  return text;
}

Json replayable_items(const Json& output) {
  Json items = Json::array();
  if (!output.is_array()) return nullptr;
  for (const Json& item : output) {
    if (!item.is_object()) continue;
    const std::string_view type = text_member(item, "type");
    if (type == "message") {
      const std::string text = item_text(item);
      if (text.empty()) continue;
      Json& added = items.emplace_back(text_item(text));
      if (const std::string_view phase = text_member(item, kPhase); !phase.empty()) added[kPhase] = phase;
    } else if (type == "function_call") {
      items.push_back(
          call_item(text_member(item, "call_id"), text_member(item, "name"), text_member(item, "arguments")));
    } else {
      items.push_back(without_nulls(item));
    }
  }
  while (!items.empty() && is_reasoning(items.back())) items.erase(items.size() - 1);
  if (std::ranges::none_of(items, is_state)) return nullptr;
  return items;
}

bool matches(const Json& items, const Message& message) {
  if (!items.is_array()) return false;
  std::string text;
  auto call = message.tool_calls.begin();
  for (const Json& item : items) {
    if (text_member(item, "role") == "assistant") {
      text += text_member(item, "content");
    } else if (text_member(item, "type") == "function_call") {
      if (call == message.tool_calls.end() || text_member(item, "call_id") != call->id ||
          text_member(item, "name") != call->name) {
        return false;
      }
      const Result<std::string> arguments = arguments_text(*call);
      if (!arguments || text_member(item, "arguments") != *arguments) return false;
      ++call;
    }
  }
  return call == message.tool_calls.end() && text == joined_text(message.content);
}

}  // namespace allm::openai_wire
