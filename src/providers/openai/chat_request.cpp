// The body of a request to Chat Completions.
#include <utility>
#include <variant>

#include "data/immortal.hpp"
#include "providers/openai/chat_writer.hpp"
#include "providers/openai/request.hpp"
#include "providers/provider_json.hpp"

namespace allm::openai_wire {
namespace {

void add_tools(const Request& request, const OpenAiQuirks& quirks, Json& body) {
  if (request.tools.empty()) return;
  body["tools"] = ChatWriter::later();
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
  if (request.temperature) body["temperature"] = *request.temperature;
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

Result<std::string> chat_body(const AdapterCall& call, const OpenAiCodecOptions& options,
                              std::span<const SendableMedia> media, const StreamFields& stream) {
  const ModelFamily family = family_of(model_of(call));
  constexpr std::size_t kUsualMembers = 8;
  static const Json& include_usage = immortal<Json>(Json{{"include_usage", true}});
  Json body = Json::object();
  body.get_ref<Json::object_t&>().reserve(kUsualMembers);
  if (!model_of(call).empty()) body["model"] = model_of(call);
  body["messages"] = ChatWriter::later();
  add_tools(call.request, options.quirks, body);
  add_settings(call, options.quirks, family, body);
  if (stream.stream) body["stream"] = true;
  if (options.quirks.stream_usage) body["stream_options"] = include_usage;
  add_raw_options(call, options, {}, body);
  if (!stream.stream || !stream.stream_options) body.erase("stream_options");
  ChatWriter writer(options, media, model_of(call), call.request.tools);
  if (!writer.body(body, call.request.messages)) return std::unexpected(writer.error());
  return writer.take();
}

}  // namespace allm::openai_wire
