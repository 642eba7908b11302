// Common parts of the requests to both endpoints. Pure functions; safe to call from any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "allm/adapter.hpp"

#include "providers/call_ids.hpp"
#include "providers/content.hpp"
#include "providers/openai/model_family.hpp"
#include "providers/openai/openai.hpp"

namespace allm::openai_wire {

using Endpoint = OpenAiCodecOptions::Endpoint;

// The endpoint of a call, never `automatic`. Fails with ValidationError `invalid_option` if the call's option is not an
// endpoint.
Result<Endpoint> endpoint_of(const AdapterCall& call, const OpenAiCodecOptions& options);
// {base}/path?query.
std::string url_of(std::string_view base_url, std::string_view path);
// The model's name, "" if none is set.
std::string_view model_of(const AdapterCall& call);
// An option of the call or its request; null if it is absent or JSON's null.
const Json* option_of(const AdapterCall& call, std::string_view name);

// Overwrites the body's members with the provider settings, without allm's own options, and leaves out the settings
// that the model refuses. A null removes the member; objects whose names are in `merged` are merged instead of
// replaced.
void add_raw_options(const AdapterCall& call, const OpenAiCodecOptions& options,
                     std::span<const std::string_view> merged, Json& body);

// The ids that the server accepts at Chat Completions.
CallIdRule chat_id_rule(const OpenAiQuirks& quirks, std::string_view model);
// Whether the server refuses a user message directly after the result of a tool, as Mistral's models do.
bool refuses_user_after_tool(const OpenAiQuirks& quirks, std::string_view model);

// The text of a call's arguments: the model's original text if it is known.
Result<std::string> arguments_text(const ToolCall& call);
// The same, or {} if the model's text is not a JSON object.
Result<std::string> json_arguments_text(const ToolCall& call);
// The schema of a tool's arguments. An empty schema becomes "an object without properties", because {} is refused.
const Json& parameters_of(const Tool& tool);

// The content that messages may contain at each endpoint.
ContentRules chat_rules(const OpenAiCodecOptions& options);
ContentRules responses_rules(const OpenAiCodecOptions& options);
// The name of a document, or a generic name for its type, because the API requires a name.
std::string file_name_of(const SendableMedia& file);
// "wav" or "mp3"; "" for other types.
std::string_view audio_format_of(std::string_view mime_type);

// Which of the members about streams a body has.
struct StreamFields {
  bool stream = true;          // whether a stream is asked for; without it, neither member is sent
  bool stream_options = true;  // whether the server accepts that member
};
// The bodies, as text. `media` are those of the messages, in order.
Result<std::string> chat_body(const AdapterCall& call, const OpenAiCodecOptions& options,
                              std::span<const SendableMedia> media, const StreamFields& stream);
Result<std::string> responses_body(const AdapterCall& call, const OpenAiCodecOptions& options,
                                   std::span<const SendableMedia> media, const StreamFields& stream);

}  // namespace allm::openai_wire
