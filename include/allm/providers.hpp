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

// How requests travel. A call can override the timeouts by the params connect_timeout, receive_timeout (the first
// byte), stream_timeout and request_timeout, in milliseconds.
struct HttpOptions {
  // Name lookup, TCP and TLS together.
  std::chrono::milliseconds connect_timeout{15'000};
  // Until the answer begins: a reasoning model may think for minutes before it says anything.
  std::chrono::milliseconds first_byte_timeout{300'000};
  // Between two pieces of an answer. Servers send something more often than that, if only a comment.
  std::chrono::milliseconds stream_timeout{60'000};
  // The whole exchange; 0 for no limit, because a long answer is no failure.
  std::chrono::milliseconds request_timeout{0};
  // Bytes of an answer after decompression, of one event of it, and of its headers: what a hostile server can make us
  // keep. An image may come as one event.
  std::size_t max_body_bytes = 256U << 20U;
  std::size_t max_event_bytes = 64U << 20U;
  std::size_t max_header_bytes = 256U << 10U;
  // PEM file of trusted authorities. Default: CURL_CA_BUNDLE, SSL_CERT_FILE, SSL_CERT_DIR, else the system's.
  std::string ca_file = {};
  // Proxy URL. Default: https_proxy, http_proxy, no_proxy.
  std::string proxy = {};
  // Keys are sent over https, or within this machine. True sends them anywhere.
  bool allow_insecure_key = false;
};

struct OpenAiOptions {
  // Which of the two endpoints: automatic is Responses for the models that need it, Chat Completions for all others.
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
  // Sent where a call names no max_tokens, because the provider insists on a number. A thinking budget comes on top.
  std::int64_t default_max_tokens = 4'096;
  // Sent as anthropic-beta.
  std::vector<std::string> beta = {};
  // Ask for JSON natively instead of through a tool that the model is made to call. The tool works with every model.
  bool native_structured_output = false;
  HttpOptions http = {};
};
std::shared_ptr<Adapter> anthropic(AnthropicOptions options = {});

struct GeminiOptions {
  std::string base_url = "https://generativelanguage.googleapis.com/v1beta";
  ApiKey api_key = {};
  std::optional<std::string> env_file = std::nullopt;
  // Let Gemini fetch images by their https URLs. Only its newer models can; without it such images are refused.
  bool fetch_image_urls = false;
  // Send schemas as they are instead of in the API's own dialect. Not every model takes them; recursive schemas can be
  // sent in no other way.
  bool json_schemas = false;
  // Mark the calls of a history that another provider wrote, so that Gemini 3 does not refuse them for the thought
  // signatures they lack. A workaround of the provider's, at the cost of quality.
  bool excuse_missing_signatures = false;
  HttpOptions http = {};
};
std::shared_ptr<Adapter> gemini(GeminiOptions options = {});

// A server that speaks OpenAI's Chat Completions.
struct CompatibleOptions {
  // ollama, vllm, llamacpp, lmstudio, groq, mistral, deepseek, openrouter, together, xai, azure; or a name of your own
  // for a server by URL, which then gets the settings that suit most.
  std::string server = {};
  // Default: the server's usual one. Azure has none.
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
// Fails with EngineError `missing_model`, saying how a name looks.
Result<ModelName> parse_model_name(std::string_view name);

// An engine for a model by name: "openai:gpt-4.1-mini", "ollama:qwen3:8b", "openai@http://localhost:8080/v1:local".
// `options.adapter` and `options.model` are set by it, and `options.catalogue`, where there is none and no URL is
// named, to the built-in one. Fails as parse_model_name and compatible do.
Result<Engine> engine_for(std::string_view model, EngineOptions options = {}, const HttpOptions& http = {});

}  // namespace allm
