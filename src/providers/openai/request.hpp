// What the requests of both endpoints have in common. Pure functions; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "allm/adapter.hpp"

#include "providers/content.hpp"
#include "providers/openai/model_family.hpp"
#include "providers/openai/openai.hpp"

namespace allm::openai_wire {

using Endpoint = OpenAiCodecOptions::Endpoint;

// The endpoint of a call, never `automatic`. Fails with ValidationError `invalid_option` if the call's option names
// none.
Result<Endpoint> endpoint_of(const AdapterCall& call, const OpenAiCodecOptions& options);
// {base}/path?query.
std::string url_of(std::string_view base_url, std::string_view path);
// The model's name, "" if nobody named one.
std::string_view model_of(const AdapterCall& call);
// An option of the call or its request, null if there is none or it is null.
const Json* option_of(const AdapterCall& call, std::string_view name);

// Writes the raw options over the body's members, but for names that are allm's own and those that `family` refuses.
// Null takes a member away; for the names in `merged`, objects are merged instead of replaced.
void add_raw_options(const AdapterCall& call, const OpenAiQuirks& quirks, const ModelFamily& family,
                     std::span<const std::string_view> merged, Json& body);

// The id as the server takes it: itself if it fits, else a hash of it.
std::string wire_tool_id(std::string_view id, const OpenAiQuirks& quirks);
// `size` letters and digits that depend on nothing but the text.
std::string short_hash(std::string_view text, std::size_t size);

// The text of a call's arguments: the model's own if it is known.
Result<std::string> arguments_text(const ToolCall& call);
// The schema of a tool's arguments; an empty one says "an object without properties", since {} is refused.
const Json& parameters_of(const Tool& tool);

// What messages may hold at each endpoint.
ContentRules chat_rules(const OpenAiCodecOptions& options);
ContentRules responses_rules(const OpenAiCodecOptions& options);
// The name of a document: its own, or one that fits its type, since the API insists on a name.
std::string file_name_of(const SendableMedia& file);
// "wav" or "mp3"; "" for other types.
std::string_view audio_format_of(std::string_view mime_type);

// The bodies, as text. `media` are those of the messages, in order. `stream_options`: whether the server takes the
// option of that name.
Result<std::string> chat_body(const AdapterCall& call, const OpenAiCodecOptions& options,
                              std::span<const SendableMedia> media, bool stream_options);
Result<std::string> responses_body(const AdapterCall& call, const OpenAiCodecOptions& options,
                                   std::span<const SendableMedia> media, bool stream_options);

}  // namespace allm::openai_wire
