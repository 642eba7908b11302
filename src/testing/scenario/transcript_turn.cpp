#include "testing/scenario/transcript_turn.hpp"

#include <string>
#include <utility>

namespace allm {
namespace {

void add_text(Message& message, const std::string& text) { message.content = message.text() + text; }

void add_call(Message& message, std::string id, std::string name, const Json& arguments) {
  ToolCall call{.id = std::move(id), .name = std::move(name)};
  if (arguments.is_string()) {
    call.raw_arguments = arguments.get<std::string>();
    call.arguments = Json::parse(*call.raw_arguments);
  } else {
    call.arguments = arguments;
  }
  message.tool_calls.push_back(std::move(call));
}

}  // namespace

void read_chat_turn(const Json& wire, Message& message) {
  if (const auto content = wire.find("content"); content != wire.end() && content->is_string()) {
    add_text(message, content->get<std::string>());
  }
  if (const auto calls = wire.find("tool_calls"); calls != wire.end()) {
    for (const Json& call : *calls) {
      const Json& function = call.at("function");
      add_call(message, call.at("id"), function.at("name"), function.at("arguments"));
    }
  }
}

void read_responses_item(const Json& item, Message& message) {
  const std::string type = item.value("type", "message");
  if (type == "function_call") return add_call(message, item.at("call_id"), item.at("name"), item.at("arguments"));
  if (type != "message") return;
  const Json& content = item.at("content");
  if (content.is_string()) return add_text(message, content.get<std::string>());
  for (const Json& block : content) add_text(message, block.value("text", ""));
}

void read_anthropic_turn(const Json& content, Message& message) {
  if (content.is_string()) return add_text(message, content.get<std::string>());
  for (const Json& block : content) {
    const auto type = block.at("type").get<std::string>();
    if (type == "text") add_text(message, block.at("text").get<std::string>());
    if (type == "tool_use") add_call(message, block.at("id"), block.at("name"), block.at("input"));
  }
}

void read_gemini_turn(const Json& parts, Message& message) {
  for (const Json& part : parts) {
    if (const auto call = part.find("functionCall"); call != part.end()) {
      add_call(message, call->value("id", ""), call->at("name"), call->value("args", Json::object()));
    } else if (part.contains("text") && !part.value("thought", false)) {
      add_text(message, part.at("text").get<std::string>());
    }
  }
}

}  // namespace allm
