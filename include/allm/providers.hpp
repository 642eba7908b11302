// Real models: adapters for OpenAI, Anthropic, Gemini and every server that speaks OpenAI's protocol.
//
//   auto engine = allm::engine_for("anthropic:claude-sonnet-4-6", {.tools = {weather}});
//   if (!engine) return report(engine.error());
//   auto result = allm::chat(*engine, {allm::user("Weather in Oslo?")});
//
// Keys are looked for in CallOptions::api_key, then set_key(), then the adapter's own `api_key`, then the environment
// (OPENAI_API_KEY, …), then an .env file if `env_file` names one. docs/providers.md has the details of each provider.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allm/adapter.hpp"
#include "allm/engine.hpp"
#include "allm/keys.hpp"

namespace allm {

// Timeouts, limits and routes of HTTP requests. The params connect_timeout, receive_timeout, stream_timeout and
// request_timeout, in milliseconds, override the timeouts of one call.
struct HttpOptions {
  // Name lookup, TCP and TLS together.
  std::chrono::milliseconds connect_timeout{15'000};
  // From the end of the request to the first byte of the answer: a reasoning model may think for minutes.
  std::chrono::milliseconds receive_timeout{300'000};
  // Between two pieces of an answer. Servers send something more often than that, at least a comment.
  std::chrono::milliseconds stream_timeout{60'000};
  // The whole exchange. 0: no limit, because a long answer is not a failure.
  std::chrono::milliseconds request_timeout{0};
  // Limits on the bytes of an answer after decompression, of one event and of the headers. They limit the memory that a
  // hostile server can use. An event may hold a whole image.
  std::size_t max_body_bytes = 256U << 20U;
  std::size_t max_event_bytes = 64U << 20U;
  std::size_t max_header_bytes = 256U << 10U;
  // PEM file of trusted authorities. Default: CURL_CA_BUNDLE, SSL_CERT_FILE, SSL_CERT_DIR, else the system's.
  std::string ca_file = {};
  // Proxy URL. Default: https_proxy, http_proxy, no_proxy.
  std::string proxy = {};
  // By default keys are sent over https and to this machine only. True sends them anywhere.
  bool allow_insecure_key = false;
};

struct OpenAiOptions {
  // `automatic` uses Responses for the models that need it and Chat Completions for all others.
  enum class Endpoint : std::uint8_t { automatic, chat, responses };

  std::string base_url = "https://api.openai.com/v1";
  Endpoint endpoint = Endpoint::automatic;
  ApiKey api_key = {};
  std::optional<std::string> env_file = std::nullopt;
  std::optional<std::string> organization = std::nullopt;
  std::optional<std::string> project = std::nullopt;
  HttpOptions http = {};
};
std::shared_ptr<Adapter> openai(OpenAiOptions options = {});

struct AnthropicOptions {
  std::string base_url = "https://api.anthropic.com/v1";
  ApiKey api_key = {};
  std::optional<std::string> env_file = std::nullopt;
  // Used when a call has no max_tokens, because the provider requires a number. A thinking budget is added to it.
  std::int64_t default_max_tokens = 4'096;
  // Values of the header anthropic-beta.
  std::vector<std::string> beta = {};
  // Ask for structured output natively instead of by a forced tool call. The forced tool call works with every model.
  bool native_structured_output = false;
  HttpOptions http = {};
};
std::shared_ptr<Adapter> anthropic(AnthropicOptions options = {});

struct GeminiOptions {
  std::string base_url = "https://generativelanguage.googleapis.com/v1beta";
  ApiKey api_key = {};
  std::optional<std::string> env_file = std::nullopt;
  // Let Gemini fetch images from https URLs. Only newer models can do that. False: images by URL are an error.
  bool fetch_image_urls = false;
  // Send JSON Schemas unchanged instead of in the API's own dialect. Not every model accepts them; recursive schemas
  // need it.
  bool json_schemas = false;
  // Mark tool calls that another provider's model made, because Gemini 3 refuses calls without thought signatures. This
  // is the provider's own workaround and costs quality.
  bool excuse_missing_signatures = false;
  HttpOptions http = {};
};
std::shared_ptr<Adapter> gemini(GeminiOptions options = {});

// A server that speaks OpenAI's Chat Completions.
struct CompatibleOptions {
  // ollama, vllm, llamacpp, lmstudio, groq, mistral, deepseek, openrouter, together, xai or azure; or any other name
  // together with `base_url`, for a server with common settings.
  std::string server = {};
  // Default: the server's usual URL. Required for Azure.
  std::string base_url = {};
  ApiKey api_key = {};
  std::optional<std::string> env_file = std::nullopt;
  // Further headers, such as OpenRouter's HTTP-Referer.
  std::vector<std::pair<std::string, std::string>> headers = {};
  HttpOptions http = {};
};
// Fails with EngineError `invalid_engine` if the server is not known and no URL is given.
Result<std::shared_ptr<Adapter>> compatible(CompatibleOptions options);

// "provider:model" or "provider@base_url:model".
struct ModelName {
  std::string provider = {};
  std::string base_url = {};  // "" if not given
  std::string model = {};
};
// Fails with EngineError `missing_model`; the message shows the form of a name.
Result<ModelName> parse_model_name(std::string_view name);

// An engine for a model by name: "openai:gpt-4.1-mini", "ollama:qwen3:8b", "openai@http://localhost:8080/v1:local".
// Sets `options.adapter` and `options.model`. Sets `options.catalogue` to the built-in one if it is null and the name
// has no URL. Fails as parse_model_name and compatible do.
Result<Engine> engine_for(std::string_view model, EngineOptions options = {}, const HttpOptions& http = {});

}  // namespace allm
