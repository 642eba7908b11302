// OpenAI's two endpoints, Chat Completions and Responses, and the many servers that speak the first of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "providers/call_ids.hpp"
#include "providers/codec.hpp"

namespace allm {

// How requests to a server must differ from those to api.openai.com. Differences in responses need no setting: the
// decoder recognises them.
struct OpenAiQuirks {
  enum class MaxTokens : std::uint8_t { by_model, max_tokens, max_completion_tokens };
  enum class ReasoningOptions : std::uint8_t { by_model, always };
  enum class ToolIds : std::uint8_t { up_to_40, nine_alphanumerics, by_model };
  enum class Files : std::uint8_t { none, file_part, document_url };
  enum class Audio : std::uint8_t { none, input_audio };
  enum class EchoReasoning : std::uint8_t { never, always };

  // The name of the token limit. OpenAI's newer models refuse the old name; most other servers know only the old one.
  MaxTokens max_tokens = MaxTokens::by_model;
  // Whether the server has OpenAI's models: settings that they refuse according to the built-in catalogue (temperature,
  // top_p, …) are left out. For other servers, the catalogue's entries of that server apply.
  bool models_of_openai = true;
  // Whether `reasoning_effort` and `verbosity` are sent: OpenAI refuses them for models that do not reason.
  ReasoningOptions reasoning_options = ReasoningOptions::by_model;
  // Ask for usage at the end of a stream. Off for servers that refuse `stream_options`.
  bool stream_usage = true;
  // Whether the server accepts prompt_cache_key and prompt_cache_retention. Many servers refuse unknown fields.
  bool prompt_cache = true;
  // Whether the server accepts `parallel_tool_calls`.
  bool parallel_flag = true;
  // Whether an assistant message that only calls tools has null as its content, as OpenAI documents it. False sends "",
  // for servers that require a text.
  bool null_content = true;
  // How the server accepts documents and audio in user messages.
  Files files = Files::file_part;
  Audio audio = Audio::input_audio;
  // Whether messages may have a `name`.
  bool message_names = true;
  // Whether a tool message has the tool's name. OpenAI needs none; a gateway that translates for a provider without ids
  // (Google) does, and so do the prompt templates of many models.
  bool tool_names = false;
  // Which tool call ids the server accepts; others are replaced. `by_model`: the server has models of many makers, and
  // Claude and Mistral models need ids of their own form.
  ToolIds tool_ids = ToolIds::up_to_40;
  // Whether the arguments of an earlier call must be the text of a JSON object, because the server parses them. If a
  // model wrote anything else, {} is sent; the call's answer says what was wrong.
  bool json_arguments = false;
  // Whether the text of a model's reasoning is sent back with its messages. Some servers require it, also as "" for a
  // message without reasoning; some refuse it.
  EchoReasoning echo_reasoning = EchoReasoning::never;
  // The value of `tool_choice` for "must call some tool".
  std::string_view required_choice = "required";
  // Whether a request needs no model: the server has only one, or the URL names it.
  bool model_optional = false;
  // Whether the key is sent in the header `api-key` instead of as a bearer token.
  bool api_key_header = false;
};

struct OpenAiCodecOptions {
  enum class Endpoint : std::uint8_t { automatic, chat, responses };

  // The provider's name in errors; also the key of the provider's state in `Message::metadata`.
  std::string provider = "openai";
  // The URL without /chat/completions; a query is kept. A trailing slash does not matter.
  std::string base_url = "https://api.openai.com/v1";
  // automatic: Responses for gpt-5 and later and the o series on api.openai.com, chat for everything else. A call's
  // option `endpoint` ("auto", "chat", "responses") takes precedence.
  Endpoint endpoint = Endpoint::automatic;
  OpenAiQuirks quirks = {};
  std::optional<std::string> organization = std::nullopt;  // sent as OpenAI-Organization
  std::optional<std::string> project = std::nullopt;       // sent as OpenAI-Project
};

// A codec for any server that speaks OpenAI's protocol.
//
// State that the provider needs in the next request (reasoning items, reasoning texts) is kept in the assistant
// message's `metadata[provider]`. It is not sent if the message's text or calls have been changed since.
std::shared_ptr<const Codec> openai_codec(OpenAiCodecOptions options = {});

}  // namespace allm
