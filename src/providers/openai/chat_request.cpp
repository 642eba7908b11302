// The body of a request to Chat Completions.
#include <utility>
#include <variant>

#include "providers/openai/request.hpp"
#include "providers/provider_json.hpp"

namespace allm::openai_wire {
namespace {

// The content of a user message: a text, or parts if there is an image among them.
Json user_content(const Message& message, std::span<const SendableImage>& images) {
  if (!has_image(message.content)) return joined_text(message.content);
  Json parts = Json::array();
  for (const Part& part : std::get<std::vector<Part>>(message.content)) {
    if (const auto* text = std::get_if<TextPart>(&part)) {
      parts.push_back({{"type", "text"}, {"text", text->text}});
    } else if (const auto* image = std::get_if<ImagePart>(&part)) {
      parts.push_back({{"type", "image_url"},
                       {"image_url", {{"url", images.front().uri()}, {"detail", to_string(image->detail)}}}});
      images = images.subspan(1);
    }
  }
  return parts;
}

Result<Json> assistant_message(const Message& message, const OpenAiCodecOptions& options) {
  const OpenAiQuirks& quirks = options.quirks;
  std::string text = joined_text(message.content);
  Json wire = {{"role", "assistant"}};
  if (text.empty() && !message.tool_calls.empty() && quirks.null_content) {
    wire["content"] = nullptr;
  } else {
    wire["content"] = std::move(text);
  }
  if (const Json* state = find_member(message.metadata, options.provider)) {
    const Json* reasoning = find_member(*state, "reasoning_content");
    if (reasoning != nullptr && !message.tool_calls.empty() &&
        quirks.echo_reasoning == OpenAiQuirks::EchoReasoning::with_tool_calls) {
      wire["reasoning_content"] = *reasoning;
    }
    if (const Json* details = find_member(*state, "reasoning_details")) wire["reasoning_details"] = *details;
  }
  for (const ToolCall& call : message.tool_calls) {
    Result<std::string> arguments = arguments_text(call);
    if (!arguments) return std::unexpected(arguments.error());
    Json wire_call = {{"id", wire_tool_id(call.id, quirks)},
                      {"type", "function"},
                      {"function", {{"name", call.name}, {"arguments", *std::move(arguments)}}}};
    if (const Json* state = find_member(call.metadata, options.provider)) {
      if (const Json* extra = find_member(*state, "extra_content")) wire_call["extra_content"] = *extra;
    }
    wire["tool_calls"].push_back(std::move(wire_call));
  }
  return wire;
}

Result<Json> chat_message(const Message& message, const OpenAiCodecOptions& options,
                          std::span<const SendableImage>& images) {
  if (message.role != Role::user && has_image(message.content)) {
    return std::unexpected(image_not_possible(options.provider, message.role));
  }
  Json wire;
  switch (message.role) {
    case Role::system:
      wire = {{"role", "system"}, {"content", joined_text(message.content)}};
      break;
    case Role::user:
      wire = {{"role", "user"}, {"content", user_content(message, images)}};
      break;
    case Role::assistant: {
      Result<Json> assistant = assistant_message(message, options);
      if (!assistant) return assistant;
      wire = *std::move(assistant);
      break;
    }
    case Role::tool:
      return Json{{"role", "tool"},
                  {"tool_call_id", wire_tool_id(message.tool_call_id.value_or(""), options.quirks)},
                  {"content", joined_text(message.content)}};
  }
  if (message.name && options.quirks.message_names) wire["name"] = *message.name;
  return wire;
}

void add_tools(const Request& request, const OpenAiQuirks& quirks, Json& body) {
  if (request.tools.empty()) return;
  Json tools = Json::array();
  for (const Tool& tool : request.tools) {
    Json function = {{"name", tool.name}};
    if (!tool.description.empty()) function["description"] = tool.description;
    function["parameters"] = parameters_of(tool);
    if (const Json* strict = find_member(tool.metadata, "strict"); strict != nullptr && strict->is_boolean()) {
      function["strict"] = *strict;
    }
    tools.push_back({{"type", "function"}, {"function", std::move(function)}});
  }
  body["tools"] = std::move(tools);
  if (!request.tool_choice) return;
  switch (request.tool_choice->kind()) {
    case ToolChoice::Kind::required:
      body["tool_choice"] = quirks.required_choice;
      break;
    case ToolChoice::Kind::tool:
      body["tool_choice"] = {{"type", "function"}, {"function", {{"name", request.tool_choice->json()}}}};
      break;
    case ToolChoice::Kind::automatic:
    case ToolChoice::Kind::none:
    case ToolChoice::Kind::provider:
      body["tool_choice"] = request.tool_choice->json();
      break;
  }
}

void add_format(const ResponseFormat& format, Json& body) {
  const Json& json = format.json();
  switch (format.kind()) {
    case ResponseFormat::Kind::text:
    case ResponseFormat::Kind::invalid:
      break;
    case ResponseFormat::Kind::json_object:
    case ResponseFormat::Kind::provider:
      body["response_format"] = json;
      break;
    case ResponseFormat::Kind::json_schema: {
      Json schema = Json::object();
      for (const auto& [name, value] : json.items()) {
        if (name != "type") schema[name] = value;
      }
      body["response_format"] = {{"type", "json_schema"}, {"json_schema", std::move(schema)}};
      break;
    }
  }
}

bool says_completion_tokens(const OpenAiQuirks& quirks, const ModelFamily& family) {
  switch (quirks.max_tokens) {
    case OpenAiQuirks::MaxTokens::max_tokens:
      return false;
    case OpenAiQuirks::MaxTokens::max_completion_tokens:
      return true;
    case OpenAiQuirks::MaxTokens::by_model:
      break;
  }
  return family.completion_tokens;
}

void add_settings(const AdapterCall& call, const OpenAiQuirks& quirks, const ModelFamily& family, Json& body) {
  const Request& request = call.request;
  if (request.temperature && !(quirks.drop_refused && family.reasons)) body["temperature"] = *request.temperature;
  if (request.max_tokens) {
    body[says_completion_tokens(quirks, family) ? "max_completion_tokens" : "max_tokens"] = *request.max_tokens;
  }
  if (request.response_format) add_format(*request.response_format, body);
  const bool always = quirks.reasoning_options == OpenAiQuirks::ReasoningOptions::always;
  if (const Json* effort = option_of(call, "reasoning_effort"); effort != nullptr && (always || family.reasons)) {
    body["reasoning_effort"] = *effort;
  }
  if (const Json* verbosity = option_of(call, "verbosity"); verbosity != nullptr && (always || family.has_verbosity)) {
    body["verbosity"] = *verbosity;
  }
  if (request.prompt_cache && quirks.prompt_cache) {
    if (request.prompt_cache->key) body["prompt_cache_key"] = *request.prompt_cache->key;
    if (request.prompt_cache->retention == PromptCache::Retention::long_term) body["prompt_cache_retention"] = "24h";
  }
}

}  // namespace

Result<Json> chat_body(const AdapterCall& call, const OpenAiCodecOptions& options,
                       std::span<const SendableImage> images) {
  const ModelFamily family = family_of(model_of(call));
  Json body = Json::object();
  if (!model_of(call).empty()) body["model"] = model_of(call);
  Json messages = Json::array();
  for (const Message& message : call.request.messages) {
    Result<Json> wire = chat_message(message, options, images);
    if (!wire) return wire;
    messages.push_back(*std::move(wire));
  }
  body["messages"] = std::move(messages);
  add_tools(call.request, options.quirks, body);
  add_settings(call, options.quirks, family, body);
  body["stream"] = true;
  if (options.quirks.stream_usage) body["stream_options"] = {{"include_usage", true}};
  add_raw_options(call, options.quirks, family, {}, body);
  return body;
}

}  // namespace allm::openai_wire
