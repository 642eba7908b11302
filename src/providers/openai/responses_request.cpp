// Writes the body of a request to Responses. The provider stores nothing: its state is in the messages.
#include <array>
#include <utility>
#include <variant>

#include "providers/openai/request.hpp"
#include "providers/openai/responses_state.hpp"
#include "providers/provider_json.hpp"
#include "providers/refused_settings.hpp"

namespace allm::openai_wire {
namespace {

Json file_part(const SendableMedia& file) {
  if (!file.file_id.empty()) return {{"type", "input_file"}, {"file_id", file.file_id}};
  if (!file.url.empty()) return {{"type", "input_file"}, {"file_url", file.url}};
  return {{"type", "input_file"}, {"filename", file_name_of(file)}, {"file_data", file.uri()}};
}

// The content of a user message or a tool result. `media` are the conversation's media that are not used yet.
Json input_content(const Message& message, std::span<const SendableMedia>& media) {
  if (!has_media(message.content)) return joined_text(message.content);
  Json parts = Json::array();
  for (const Part& part : std::get<std::vector<Part>>(message.content)) {
    if (const auto* text = std::get_if<TextPart>(&part)) {
      parts.push_back({{"type", "input_text"}, {"text", text->text}});
      continue;
    }
    if (const auto* image = std::get_if<ImagePart>(&part)) {
      parts.push_back(
          {{"type", "input_image"}, {"image_url", media.front().uri()}, {"detail", to_string(image->detail)}});
    } else {
      parts.push_back(file_part(media.front()));
    }
    media = media.subspan(1);
  }
  return parts;
}

// Appends the kept items, with the ids that the calls have in this request.
void add_items(const Json& items, SentCalls& calls, Json& input) {
  for (const Json& item : items) {
    Json& added = input.emplace_back(item);
    if (text_member(item, "type") != "function_call") continue;
    const SentCall& call = calls.add(text_member(item, "call_id"), text_member(item, "name"));
    added["call_id"] = call.id;
    added["name"] = call.name;
  }
}

Status add_assistant(const Message& message, const OpenAiCodecOptions& options, bool reasons, SentCalls& calls,
                     Json& input) {
  if (const Json* state = find_member(message.metadata, options.provider); state != nullptr && reasons) {
    const Json* items = find_member(*state, "output");
    if (items != nullptr && matches(*items, message)) {
      add_items(*items, calls, input);
      return {};
    }
  }
  std::string text = joined_text(message.content);
  if (!text.empty()) input.push_back(text_item(text));
  for (const ToolCall& call : message.tool_calls) {
    Result<std::string> arguments = arguments_text(call);
    if (!arguments) return std::unexpected(arguments.error());
    const SentCall& sent = calls.add(call.id, call.name);
    input.push_back(call_item(sent.id, sent.name, *arguments));
  }
  return {};
}

Result<Json> input_of(const AdapterCall& call, const OpenAiCodecOptions& options, bool reasons,
                      std::span<const SendableMedia> media) {
  Json input = Json::array();
  SentCalls calls(CallIdRule::up_to_64, call.request.tools);
  for (const Message& message : call.request.messages) {
    switch (message.role) {
      case Role::system:
        input.push_back({{"role", "system"}, {"content", joined_text(message.content)}});
        break;
      case Role::user:
        input.push_back({{"role", "user"}, {"content", input_content(message, media)}});
        break;
      case Role::assistant:
        if (Status added = add_assistant(message, options, reasons, calls, input); !added) {
          return std::unexpected(added.error());
        }
        break;
      case Role::tool:
        input.push_back({{"type", "function_call_output"},
                         {"call_id", calls.answered(message.tool_call_id.value_or("")).id},
                         {"output", input_content(message, media)}});
        break;
    }
  }
  return input;
}

void add_tools(const Request& request, Json& body) {
  if (request.tools.empty()) return;
  Json tools = Json::array();
  for (const Tool& tool : request.tools) {
    Json wire = {{"type", "function"}, {"name", tool.name}};
    if (!tool.description.empty()) wire["description"] = tool.description;
    wire["parameters"] = parameters_of(tool);
    // Set explicitly, because this endpoint's default is true, and few schemas meet its rules.
    const Json* strict = find_member(tool.metadata, "strict");
    wire["strict"] = strict != nullptr && *strict == true;
    tools.push_back(std::move(wire));
  }
  body["tools"] = std::move(tools);
  if (!request.tool_choice) return;
  if (request.tool_choice->kind() == ToolChoice::Kind::tool) {
    body["tool_choice"] = {{"type", "function"}, {"name", request.tool_choice->json()}};
  } else {
    body["tool_choice"] = request.tool_choice->json();
  }
}

// `text.format` and `text.verbosity`.
void add_text(const AdapterCall& call, bool has_verbosity, Json& body) {
  Json text = Json::object();
  const auto& format = call.request.response_format;
  if (format && format->kind() != ResponseFormat::Kind::text && format->kind() != ResponseFormat::Kind::invalid) {
    text["format"] = format->json();
  }
  if (const Json* verbosity = option_of(call, "verbosity"); verbosity != nullptr && has_verbosity) {
    text["verbosity"] = *verbosity;
  }
  if (!text.empty()) body["text"] = std::move(text);
}

void add_reasoning(const AdapterCall& call, Json& body) {
  Json reasoning = Json::object();
  if (const Json* effort = option_of(call, "reasoning_effort")) reasoning["effort"] = *effort;
  if (const Json* summary = option_of(call, "reasoning_summary")) reasoning["summary"] = *summary;
  if (!reasoning.empty()) body["reasoning"] = std::move(reasoning);
}

}  // namespace

Result<std::string> responses_body(const AdapterCall& call, const OpenAiCodecOptions& options,
                                   std::span<const SendableMedia> media, const StreamFields& stream) {
  constexpr std::array<std::string_view, 2> kMerged = {"text", "reasoning"};
  const Request& request = call.request;
  const OpenAiQuirks& quirks = options.quirks;
  const ModelFamily family = family_of(model_of(call));
  const bool always = quirks.reasoning_options == OpenAiQuirks::ReasoningOptions::always;
  const bool reasons = family.reasons || always;

  Json body = Json::object();
  if (!model_of(call).empty()) body["model"] = model_of(call);
  Result<Json> input = input_of(call, options, reasons, media);
  if (!input) return std::unexpected(input.error());
  body["input"] = *std::move(input);
  add_tools(request, body);
  if (request.temperature) body["temperature"] = *request.temperature;
  if (request.max_tokens) body["max_output_tokens"] = *request.max_tokens;
  add_text(call, always || family.has_verbosity, body);
  if (reasons) add_reasoning(call, body);
  if (request.prompt_cache && quirks.prompt_cache) {
    if (request.prompt_cache->key) body["prompt_cache_key"] = *request.prompt_cache->key;
    if (request.prompt_cache->retention == PromptCache::Retention::long_term) body["prompt_cache_retention"] = "24h";
  }
  body["store"] = false;
  if (reasons) body["include"] = Json::array({"reasoning.encrypted_content"});
  if (stream.stream) body["stream"] = true;
  add_raw_options(call, options, kMerged, body);
  if (body.erase("stop") > 0 && call.warn) {
    call.warn(left_out_warning("stop", model_of(call), "the Responses endpoint does not have this setting"));
  }
  if (!stream.stream || !stream.stream_options) body.erase("stream_options");
  return write_json(body);
}

}  // namespace allm::openai_wire
