#include "providers/gemini/kept_parts.hpp"

#include <string>
#include <utility>

#include "providers/call_ids.hpp"
#include "providers/content.hpp"
#include "providers/provider_json.hpp"

namespace allm {
namespace {

constexpr std::string_view kSignature = "thoughtSignature";

const Json* kept(const Message& message) {
  const Json* parts = find_member(message.metadata, "gemini");
  return parts != nullptr && parts->is_array() && !parts->empty() ? parts : nullptr;
}

bool is_thought(const Json& part) {
  const Json* thought = find_member(part, "thought");
  return thought != nullptr && *thought == true;
}

bool is_call(const Json& part, const ToolCall& call) {
  const Json& function = part["functionCall"];
  const Json* arguments = find_member(function, "args");
  const std::string_view id = text_member(function, "id");
  const bool same_arguments = arguments == nullptr ? call.arguments.empty() : json_equal(*arguments, call.arguments);
  return text_member(function, "name") == call.name && (id.empty() || id == call.id) && same_arguments;
}

// Whether the parts have exactly the text and the calls of the message.
bool have_same_content(const Json& parts, const Message& message) {
  std::string text;
  std::size_t calls = 0;
  for (const Json& part : parts) {
    if (!part.is_object()) return false;
    if (!is_thought(part)) text += text_member(part, "text");
    if (find_member(part, "functionCall") == nullptr) continue;
    if (calls == message.tool_calls.size() || !is_call(part, message.tool_calls[calls])) return false;
    ++calls;
  }
  return calls == message.tool_calls.size() && text == message.text();
}

// Only signed parts must be sent back; a thought without a signature is a summary for people.
Json without_unsigned_thoughts(const Json& parts) {
  Json sendable = Json::array();
  for (const Json& part : parts) {
    if (!is_thought(part) || find_member(part, kSignature) != nullptr) sendable.push_back(part);
  }
  return sendable;
}

Json plain_parts(const Message& message) {
  Json parts = Json::array();
  if (std::string text = joined_text(message.content); !text.empty()) parts.push_back({{"text", std::move(text)}});
  const ProviderIds ids = provider_ids(message);
  for (const ToolCall& call : message.tool_calls) {
    Json function = {{"name", call.name}, {"args", call.arguments.is_object() ? call.arguments : Json::object()}};
    if (ids.contains(call.id)) function["id"] = call.id;
    Json& part = parts.emplace_back(Json{{"functionCall", std::move(function)}});
    if (const std::string_view signature = text_member(call.metadata, kSignature); !signature.empty()) {
      part[kSignature] = signature;
    }
  }
  return parts;
}

}  // namespace

void keep_parts(Message& message, Json parts) {
  if (parts.empty() || json_equal(parts, plain_parts(message))) return;
  message.metadata["gemini"] = std::move(parts);
}

Json sendable_parts(const Message& message, const std::vector<Tool>& tools) {
  const Json* own = kept(message);
  const bool is_current = own != nullptr && have_same_content(*own, message);
  Json parts = is_current ? without_unsigned_thoughts(*own) : plain_parts(message);
  for (Json& part : parts) {
    if (find_member(part, "functionCall") == nullptr) continue;
    Json& name = part["functionCall"]["name"];
    name = sendable_tool_name(name.is_string() ? name.get_ref<const std::string&>() : "", tools);
  }
  return parts;
}

ProviderIds provider_ids(const Message& message) {
  ProviderIds ids;
  const Json* parts = kept(message);
  if (parts == nullptr) return ids;
  for (const Json& part : *parts) {
    const Json* function = find_member(part, "functionCall");
    const std::string_view id = function == nullptr ? "" : text_member(*function, "id");
    if (!id.empty()) ids.insert(id);
  }
  return ids;
}

}  // namespace allm
