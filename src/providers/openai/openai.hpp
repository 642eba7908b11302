// OpenAI's two endpoints, Chat Completions and Responses, and the many servers that speak the first of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/exchange.hpp"
#include "providers/codec.hpp"

namespace allm {

// How a server differs from api.openai.com in what it accepts. What it sends differently is recognised when it comes,
// and needs no setting.
struct OpenAiQuirks {
  enum class MaxTokens : std::uint8_t { by_model, max_tokens, max_completion_tokens };
  enum class ReasoningOptions : std::uint8_t { by_model, always };
  enum class ToolIds : std::uint8_t { up_to_40, nine_alphanumerics };
  enum class Files : std::uint8_t { none, file_part, document_url };
  enum class Audio : std::uint8_t { none, input_audio };
  enum class EchoReasoning : std::uint8_t { never, with_tool_calls };

  // The name of the limit. OpenAI's newer models refuse the old name, most other servers know no other.
  MaxTokens max_tokens = MaxTokens::by_model;
  // Leave out what OpenAI's reasoning models refuse (temperature, top_p, stop, …), so that one set of options serves
  // all models. Goes by the model's name; off where names mean nothing.
  bool drop_refused = true;
  // Whether `reasoning_effort` and `verbosity` are sent: OpenAI refuses them for models that do not reason.
  ReasoningOptions reasoning_options = ReasoningOptions::by_model;
  // Ask for usage at the end of a stream. Off for servers that refuse `stream_options`.
  bool stream_usage = true;
  // Whether the server knows prompt_cache_key and prompt_cache_retention; unknown fields are refused by many.
  bool prompt_cache = true;
  // Whether the server knows `parallel_tool_calls`.
  bool parallel_flag = true;
  // An assistant message that only calls tools has the content null, as documented. Off: "", for servers that want
  // content to be a text.
  bool null_content = true;
  // How the server takes documents and audio in user messages, if it takes them.
  Files files = Files::file_part;
  Audio audio = Audio::input_audio;
  // Whether messages may have a `name`.
  bool message_names = true;
  // What tool call ids the server takes. Others are replaced by a hash, the same each time.
  ToolIds tool_ids = ToolIds::up_to_40;
  // Whether the text of a model's reasoning goes back with its tool calls. Some servers insist on it, some refuse it.
  EchoReasoning echo_reasoning = EchoReasoning::never;
  // The word for "must call some tool".
  std::string_view required_choice = "required";
  // Whether a request without a model makes sense: the server has but one, or the URL names it.
  bool model_optional = false;
  // The key travels in `api-key` and not as a bearer token.
  bool api_key_header = false;
};

struct OpenAiCodecOptions {
  enum class Endpoint : std::uint8_t { automatic, chat, responses };

  // For messages and errors, and the key of the provider's own state in `Message::metadata`.
  std::string provider = "openai";
  // Up to but without /chat/completions; a query is kept. A trailing slash does not matter.
  std::string base_url = "https://api.openai.com/v1";
  // automatic: Responses for gpt-5 and later and the o series on api.openai.com, chat for everything else. A call's
  // option `endpoint` ("auto", "chat", "responses") wins.
  Endpoint endpoint = Endpoint::automatic;
  OpenAiQuirks quirks = {};
  std::optional<std::string> organization = std::nullopt;  // sent as OpenAI-Organization
  std::optional<std::string> project = std::nullopt;       // sent as OpenAI-Project
  HttpHeaders headers = {};                                // further ones, such as OpenRouter's HTTP-Referer
};

// A codec for any server of the kind.
//
// What the model's provider wants back in the next request (reasoning items, reasoning texts) is kept in the assistant
// message's `metadata[provider]`. If the message's text or calls have been changed since, it is left out.
std::shared_ptr<const Codec> openai_codec(OpenAiCodecOptions options = {});

}  // namespace allm
