#include "allm/providers.hpp"

#include <algorithm>
#include <utility>

#include "allm/demo.hpp"

#include "providers/anthropic/anthropic.hpp"
#include "providers/gemini/gemini.hpp"
#include "providers/http_adapter.hpp"
#include "providers/openai/presets.hpp"

namespace allm {
namespace {

HttpAdapterOptions adapter_options(std::shared_ptr<const Codec> codec, const HttpOptions& http) {
  HttpAdapterOptions options;
  options.codec = std::move(codec);
  options.timeouts = {.connect = http.connect_timeout,
                      .receive = http.receive_timeout,
                      .stream = http.stream_timeout,
                      .request = http.request_timeout};
  options.limits.max_body_bytes = http.max_body_bytes;
  options.limits.max_event_bytes = http.max_event_bytes;
  options.limits.max_header_bytes = http.max_header_bytes;
  options.route = {.ca_file = http.ca_file, .proxy = http.proxy};
  options.allow_insecure_key = http.allow_insecure_key;
  options.allow_key_to_proxy = http.allow_key_to_proxy;
  for (const auto& [name, value] : http.headers) options.headers.push_back({name, value});
  return options;
}

std::shared_ptr<Adapter> adapter(std::shared_ptr<const Codec> codec, KeySources key, const HttpOptions& http) {
  HttpAdapterOptions options = adapter_options(std::move(codec), http);
  options.key = std::move(key);
  return std::make_shared<HttpAdapter>(std::move(options));
}

OpenAiCodecOptions::Endpoint endpoint_of(OpenAiOptions::Endpoint endpoint) {
  switch (endpoint) {
    case OpenAiOptions::Endpoint::chat:
      return OpenAiCodecOptions::Endpoint::chat;
    case OpenAiOptions::Endpoint::responses:
      return OpenAiCodecOptions::Endpoint::responses;
    case OpenAiOptions::Endpoint::automatic:
      break;
  }
  return OpenAiCodecOptions::Endpoint::automatic;
}

// For a server without a preset: only fields that all servers accept.
constexpr OpenAiQuirks kUnknownServer = {.max_tokens = OpenAiQuirks::MaxTokens::max_tokens,
                                         .models_of_openai = false,
                                         .reasoning_options = OpenAiQuirks::ReasoningOptions::always,
                                         .prompt_cache = false,
                                         .tool_names = true,
                                         .tool_ids = OpenAiQuirks::ToolIds::by_model,
                                         .json_arguments = true,
                                         .model_optional = true};

std::string known_servers() {
  std::string names;
  for (const OpenAiPreset& preset : openai_presets()) names += (names.empty() ? "" : ", ") + std::string(preset.name);
  return names;
}

// The index of the model's name in the text after "provider@": after the colon that follows host, port and path.
std::size_t model_after_url(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return std::string_view::npos;
  const std::size_t host = scheme + 3;
  if (const std::size_t path = url.find('/', host); path != std::string_view::npos) {
    const std::size_t colon = url.find(':', host);
    // A slash after the second colon belongs to the model: http://host:1234:org/model.
    const std::size_t second = colon == std::string_view::npos ? colon : url.find(':', colon + 1);
    if (second == std::string_view::npos || path < second) return url.find(':', path);
    return second;
  }
  const std::size_t first = url.find(':', host);
  if (first == std::string_view::npos) return first;
  const std::size_t second = url.find(':', first + 1);
  return second == std::string_view::npos ? first : second;
}

Error bad_name(std::string_view name) {
  return Error(EngineError{.reason = EngineError::Reason::missing_model},
               "'" + std::string(name) +
                   "' names no model: write provider:model, such as openai:gpt-4.1-mini, or "
                   "provider@base_url:model, such as openai@http://localhost:8080/v1:local");
}

Result<std::shared_ptr<Adapter>> adapter_for(const ModelName& name, const HttpOptions& http) {
  if (name.provider == "demo") return demo();
  if (name.provider == "openai") {
    // Another server than OpenAI's: it may need no key.
    if (!name.base_url.empty()) return compatible({.server = "openai", .base_url = name.base_url, .http = http});
    return openai({.http = http});
  }
  if (name.provider == "anthropic") {
    AnthropicOptions options{.http = http};
    if (!name.base_url.empty()) options.base_url = name.base_url;
    return anthropic(std::move(options));
  }
  if (name.provider == "gemini") {
    GeminiOptions options{.http = http};
    if (!name.base_url.empty()) options.base_url = name.base_url;
    return gemini(std::move(options));
  }
  return compatible({.server = name.provider, .base_url = name.base_url, .http = http});
}

}  // namespace

std::shared_ptr<Adapter> openai(OpenAiOptions options) {
  OpenAiCodecOptions codec;
  codec.base_url = std::move(options.base_url);
  codec.endpoint = endpoint_of(options.endpoint);
  codec.organization = std::move(options.organization);
  codec.project = std::move(options.project);
  KeySources key{.provider = "openai", .configured = options.api_key, .env_file = std::move(options.env_file)};
  return adapter(openai_codec(std::move(codec)), std::move(key), options.http);
}

std::shared_ptr<Adapter> anthropic(AnthropicOptions options) {
  AnthropicCodecOptions codec;
  codec.base_url = std::move(options.base_url);
  codec.version = std::move(options.version);
  codec.beta = std::move(options.beta);
  codec.default_max_tokens = options.default_max_tokens;
  codec.native_structured_output = options.native_structured_output;
  KeySources key{.provider = "anthropic", .configured = options.api_key, .env_file = std::move(options.env_file)};
  return adapter(anthropic_codec(std::move(codec)), std::move(key), options.http);
}

std::shared_ptr<Adapter> gemini(GeminiOptions options) {
  GeminiCodecOptions codec;
  codec.base_url = std::move(options.base_url);
  codec.fetch_image_urls = options.fetch_image_urls;
  codec.json_schemas = options.json_schemas;
  codec.excuse_missing_signatures = options.excuse_missing_signatures;
  KeySources key{.provider = "gemini",
                 .environment = {"GEMINI_API_KEY", "GOOGLE_API_KEY"},
                 .configured = options.api_key,
                 .env_file = std::move(options.env_file)};
  return adapter(gemini_codec(std::move(codec)), std::move(key), options.http);
}

Result<std::shared_ptr<Adapter>> compatible(CompatibleOptions options) {
  OpenAiCodecOptions codec;
  KeySources key{.provider = options.server, .configured = options.api_key, .env_file = std::move(options.env_file)};
  if (const OpenAiPreset* preset = find_openai_preset(options.server)) {
    codec = options_of(*preset);
    if (!preset->key_variable.empty()) key.environment = {std::string(preset->key_variable)};
    key.optional = !preset->needs_key;
  } else {
    codec = {.provider = options.server, .base_url = "", .quirks = kUnknownServer};
    key.optional = true;
  }
  if (!options.base_url.empty()) codec.base_url = std::move(options.base_url);
  if (codec.base_url.empty()) {
    return std::unexpected(Error(EngineError{.reason = EngineError::Reason::invalid_engine, .provider = options.server},
                                 "where is '" + options.server + "'? Give its base URL; servers known by name are " +
                                     known_servers() + ", and openai, anthropic and gemini"));
  }
  codec.endpoint = OpenAiCodecOptions::Endpoint::chat;
  options.http.headers.insert(options.http.headers.end(), options.headers.begin(), options.headers.end());
  return adapter(openai_codec(std::move(codec)), std::move(key), options.http);
}

Result<ModelName> parse_model_name(std::string_view name) {
  if (name == "demo") return ModelName{.provider = "demo", .model = "demo"};
  const std::size_t at = name.find_first_of("@:");
  if (at == 0 || at == std::string_view::npos) return std::unexpected(bad_name(name));
  ModelName parsed{.provider = std::string(name.substr(0, at))};
  std::string_view rest = name.substr(at + 1);
  if (name[at] == '@') {
    const std::size_t colon = model_after_url(rest);
    if (colon == std::string_view::npos) return std::unexpected(bad_name(name));
    parsed.base_url = rest.substr(0, colon);
    rest.remove_prefix(colon + 1);
  }
  if (rest.empty()) return std::unexpected(bad_name(name));
  parsed.model = rest;
  return parsed;
}

Result<Engine> engine_for(std::string_view model, EngineOptions options, const HttpOptions& http) {
  const Result<ModelName> name = parse_model_name(model);
  if (!name) return std::unexpected(name.error());
  Result<std::shared_ptr<Adapter>> chosen = adapter_for(*name, http);
  if (!chosen) return std::unexpected(chosen.error());
  options.adapter = *std::move(chosen);
  ModelRef reference(name->model);
  reference.provider = name->provider;
  options.model = std::move(reference);
  // The catalogue describes the provider's own models, not those of another server.
  if (!options.catalogue && name->base_url.empty()) options.catalogue = builtin_catalogue();
  return Engine(std::move(options));
}

}  // namespace allm
