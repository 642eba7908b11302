#include "testing/scenario/transcript_request.hpp"

#include <string_view>
#include <utility>
#include <vector>

#include "testing/scenario/transcript_turn.hpp"

namespace allm {
namespace {

constexpr std::string_view kForcedTool = "respond_with_json_";

// Adds to the last message if it is an assistant message: consecutive items of the model are one message.
template <class Read>
void add_turn(Request& request, const Json& wire, Read read) {
  std::vector<Message> messages(request.messages.begin(), request.messages.end());
  if (messages.empty() || messages.back().role != Role::assistant) messages.push_back(assistant(""));
  read(wire, messages.back());
  request.messages = MessageList(std::move(messages));
}

Image image_from(const std::string& url) {
  if (Result<Image> image = image_from_data_uri(url)) return *std::move(image);
  return {.source = ImageUrl{url}};
}

ImageDetail detail_from(const Json& block) {
  const std::string detail = block.value("detail", "auto");
  return detail == "low" ? ImageDetail::low : detail == "high" ? ImageDetail::high : ImageDetail::automatic;
}

// Reads text, or blocks of both OpenAI endpoints.
Content content_from(const Json& content) {
  if (content.is_null()) return std::string();
  if (content.is_string()) return content.get<std::string>();
  std::vector<Part> parts;
  for (const Json& block : content) {
    const auto type = block.at("type").get<std::string>();
    if (type == "image_url") {
      const Json& image = block.at("image_url");
      parts.emplace_back(ImagePart{.image = image_from(image.at("url")), .detail = detail_from(image)});
    } else if (type == "input_image") {
      parts.emplace_back(ImagePart{.image = image_from(block.at("image_url")), .detail = detail_from(block)});
    } else {
      parts.emplace_back(TextPart{block.at("text")});
    }
  }
  return parts;
}

void add_message(Request& request, const Json& message) {
  const auto role = message.at("role").get<std::string>();
  if (role == "assistant") return add_turn(request, message, read_chat_turn);
  if (role == "tool") {
    request.messages.push_back(tool_result(message.at("tool_call_id"), message.at("content")));
  } else if (role == "system" || role == "developer") {
    request.messages.push_back(system(content_from(message.at("content"))));
  } else {
    request.messages.push_back(user(content_from(message.at("content"))));
  }
}

void read_input(Request& request, const Json& input) {
  if (input.is_string()) {
    request.messages.push_back(user(input.get<std::string>()));
    return;
  }
  for (const Json& item : input) {
    const std::string type = item.value("type", "message");
    if (type == "function_call_output") {
      request.messages.push_back(tool_result(item.at("call_id"), item.at("output")));
    } else if (type == "message" && item.value("role", "assistant") != "assistant") {
      add_message(request, item);
    } else {
      add_turn(request, item, read_responses_item);
    }
  }
}

void add_blocks(Request& request, const Json& blocks) {
  for (const Json& block : blocks) {
    if (block.at("type") == "tool_result") {
      Message result = tool_result(block.at("tool_use_id"), block.at("content"));
      if (block.value("is_error", false)) result.metadata["is_error"] = true;
      request.messages.push_back(std::move(result));
    } else if (block.at("type") == "image") {
      const Json& source = block.at("source");
      const std::string url = source.at("type") == "url" ? source.at("url").get<std::string>()
                                                         : "data:" + source.at("media_type").get<std::string>() +
                                                               ";base64," + source.at("data").get<std::string>();
      request.messages.push_back(user(std::vector<Part>{ImagePart{.image = image_from(url)}}));
    } else {
      request.messages.push_back(user(block.at("text").get<std::string>()));
    }
  }
}

void read_anthropic(Request& request, const Json& body) {
  if (const auto prompt = body.find("system"); prompt != body.end()) {
    std::string text = prompt->is_string() ? prompt->get<std::string>() : "";
    if (prompt->is_array()) {
      for (const Json& block : *prompt) text += block.at("text").get<std::string>();
    }
    request.messages.push_back(system(text));
  }
  for (const Json& message : body.at("messages")) {
    if (message.at("role") == "assistant") {
      add_turn(request, message.at("content"), read_anthropic_turn);
    } else if (message.at("content").is_string()) {
      request.messages.push_back(user(message.at("content").get<std::string>()));
    } else {
      add_blocks(request, message.at("content"));
    }
  }
}

void add_part(Request& request, const Json& part) {
  if (!part.contains("functionResponse")) {
    request.messages.push_back(user(part.at("text").get<std::string>()));
    return;
  }
  const Json& response = part.at("functionResponse");
  const Json& value = response.at("response");
  const bool plain = value.size() == 1 && value.contains("output") && value.at("output").is_string();
  request.messages.push_back(
      tool_result(response.value("id", ""), plain ? value.at("output").get<std::string>() : value.dump()));
}

void read_gemini(Request& request, const Json& body) {
  if (body.contains("systemInstruction")) {
    request.messages.push_back(system(body.at("systemInstruction").at("parts").at(0).at("text").get<std::string>()));
  }
  for (const Json& content : body.at("contents")) {
    if (content.value("role", "user") == "model") {
      add_turn(request, content.at("parts"), read_gemini_turn);
      continue;
    }
    for (const Json& part : content.at("parts")) add_part(request, part);
  }
}

void read_tools(Request& request, const Json& tools) {
  for (const Json& entry : tools) {
    if (entry.contains("functionDeclarations")) {
      read_tools(request, entry.at("functionDeclarations"));
      continue;
    }
    const Json& tool = entry.contains("function") ? entry.at("function") : entry;
    const auto name = tool.at("name").get<std::string>();
    const char* const schema = tool.contains("input_schema") ? "input_schema" : "parameters";
    if (name.starts_with(kForcedTool)) {
      request.response_format = ResponseFormat::json_schema(name.substr(kForcedTool.size()), tool.at(schema));
    } else {
      request.tools.push_back({.name = name, .description = tool.value("description", ""), .schema = tool.at(schema)});
    }
  }
}

void read_format(Request& request, const Json& format) {
  if (format.at("type") != "json_schema") {
    request.response_format = ResponseFormat::from_json(format);
    return;
  }
  const Json& schema = format.contains("json_schema") ? format.at("json_schema") : format;
  request.response_format =
      ResponseFormat::json_schema(schema.at("name"), schema.at("schema"), schema.value("strict", true));
}

bool read_field(Request& request, const std::string& name, const Json& value) {
  if (name == "messages" || name == "input" || name == "contents" || name == "systemInstruction" || name == "system" ||
      name == "stream" || name == "stream_options" || name == "toolConfig") {
    return true;
  }
  if (name == "model") {
    request.model = ModelRef(value.get<std::string>());
  } else if (name == "tools") {
    read_tools(request, value);
  } else if (name == "tool_choice") {
    const bool forced = value.is_object() && value.value("name", "").starts_with(kForcedTool);
    if (!forced) request.tool_choice = ToolChoice::from_json(value);
  } else if (name == "max_tokens" || name == "max_completion_tokens" || name == "max_output_tokens") {
    request.max_tokens = value.get<std::int64_t>();
  } else if (name == "temperature") {
    request.temperature = value.get<double>();
  } else if (name == "response_format") {
    read_format(request, value);
  } else if (name == "text" && value.contains("format")) {
    read_format(request, value.at("format"));
  } else if (name == "generationConfig") {
    for (const auto& [key, setting] : value.items()) request.options[key] = setting;
  } else {
    return false;
  }
  return true;
}

}  // namespace

Request read_wire_request(const Json& body, WireForm form) {
  Request request;
  request.stream = body.value("stream", false);
  switch (form) {
    case WireForm::chat:
      for (const Json& message : body.at("messages")) add_message(request, message);
      break;
    case WireForm::responses:
      read_input(request, body.at("input"));
      break;
    case WireForm::anthropic:
      read_anthropic(request, body);
      break;
    case WireForm::gemini:
      read_gemini(request, body);
      break;
  }
  for (const auto& [name, value] : body.items()) {
    if (!read_field(request, name, value)) request.options[name] = value;
  }
  return request;
}

}  // namespace allm
