// Real models: adapters for OpenAI, Anthropic, Gemini and every server that speaks OpenAI's protocol.
//
//   auto engine = allm::engine_for("anthropic:claude-sonnet-4-6", {.tools = {weather}});
//   if (!engine) return report(engine.error());
//   auto result = allm::chat(*engine, {allm::user("Weather in Oslo?")});
//
// The API key of a call is the first of these that is set: CallOptions::api_key; the key of set_key(); the adapter's
// own `api_key`; the environment variable (OPENAI_API_KEY, …); the same variable in the file that `env_file` names.
// docs/providers.md has the details of each provider.
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

// Timeouts, limits and routes of HTTP requests. The `params` of the call or the engine may override the timeouts, in
// milliseconds: {"connect_timeout": 5000}; also receive_timeout, stream_timeout and request_timeout.
struct HttpOptions {
  // Name lookup, TCP and TLS together.
  std::chrono::milliseconds connect_timeout{15'000};
  // From the start of the request until the head of the answer is complete: a reasoning model may think for minutes.
  // Interim responses (1xx) and single headers do not extend it.
  std::chrono::milliseconds receive_timeout{300'000};
  // Between two pieces of an answer's body. Servers send something more often, at least a comment of the event stream.
  std::chrono::milliseconds stream_timeout{60'000};
  // The whole request and answer. Default 0: no limit, because a long answer is not a failure.
  std::chrono::milliseconds request_timeout{0};
  // Limits on the bytes of an answer after decompression, of one event and of the headers. They limit the memory that a
  // hostile server can use. An event may hold a whole image. A body of more than 8 MiB must also not be larger than 200
  // times its compressed size.
  std::size_t max_body_bytes = 256U << 20U;
  std::size_t max_event_bytes = 64U << 20U;
  std::size_t max_header_bytes = 256U << 10U;
  // PEM file of trusted authorities. Default: the environment variables CURL_CA_BUNDLE, SSL_CERT_FILE and SSL_CERT_DIR,
  // else the authorities of the system.
  std::string ca_file = {};
  // Proxy URL. Default: the environment variables https_proxy, http_proxy, all_proxy and no_proxy, which are not used
  // for addresses of this machine (localhost, 127.0.0.0/8, ::1).
  std::string proxy = {};
  // By default, keys and headers that look like a key are sent only over https or to this machine. A call that needs
  // them elsewhere fails. True: they are sent anywhere.
  bool allow_insecure_key = false;
  // By default, keys are not sent to an http URL through a proxy, which could read them. A call that needs that fails.
  // https URLs are not affected: the proxy sees only encrypted data. True: proxies may read keys.
  bool allow_key_to_proxy = false;
  // Further headers of every request, such as those of a gateway. They replace headers of the same name: `User-Agent`
  // (allm/VERSION), and the provider's key, which is then not looked for. Values that look like a key, by the name of
  // the header or by their form, are redacted like keys. A name that is not valid or belongs to the transport
  // (Content-Length, Host, …), and a value with control characters, are ValidationError `invalid_option` of the call.
  std::vector<std::pair<std::string, std::string>> headers = {};
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
  // The max_tokens of calls that set none, because the provider requires a number. A thinking budget is added to it.
  std::int64_t default_max_tokens = 4'096;
  // The header anthropic-version. allm reads the answers of this version.
  std::string version = "2023-06-01";
  // Values of the header anthropic-beta.
  std::vector<std::string> beta = {};
  // True: ask for a JSON schema by the provider's own feature. False: by a forced tool call, which works with every
  // model.
  bool native_structured_output = false;
  HttpOptions http = {};
};
std::shared_ptr<Adapter> anthropic(AnthropicOptions options = {});

struct GeminiOptions {
  std::string base_url = "https://generativelanguage.googleapis.com/v1beta";
  ApiKey api_key = {};
  std::optional<std::string> env_file = std::nullopt;
  // True: Gemini fetches images from https URLs, which only newer models can do. False: a call with an image URL fails.
  bool fetch_image_urls = false;
  // True: JSON Schemas are sent unchanged, which not every model accepts. False: they are sent in the API's own
  // dialect, which cannot express recursive schemas.
  bool json_schemas = false;
  // Gemini 3 refuses conversations with tool calls that have no thought signature, such as those of another provider's
  // model. Such calls get the placeholder signature that the provider defines for this if the model's name begins with
  // gemini-3 or a later version. True: also for models with other names.
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
  // Further headers, such as OpenRouter's HTTP-Referer. They come after those of `http` and follow the same rules.
  std::vector<std::pair<std::string, std::string>> headers = {};
  HttpOptions http = {};
};
// Fails with EngineError `invalid_engine` if `base_url` is empty and the server is azure or not in the list above.
Result<std::shared_ptr<Adapter>> compatible(CompatibleOptions options);

// "provider:model" or "provider@base_url:model"; "demo" is the demo model (allm/demo.hpp).
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
