// What every provider reads from a call in the same way. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

#include "allm/adapter.hpp"

#include "http/exchange.hpp"

namespace allm {

// The model to call. Fails with EngineError `missing_model`.
Result<std::string> called_model(const AdapterCall& call, std::string_view provider);

// Settings beyond the typed ones, by the names that the caller used: the request's, overlaid by the call's, without
// those that are meant for allm itself (timeouts, retries, keys).
Json provider_settings(const AdapterCall& call);
// Takes a setting out: its value, or null if there is none.
Json take_setting(Json& settings, std::string_view name);
// A setting that is one text or a list of them, as a list.
Json as_list(Json value);
// Writes settings over the members of a body. Null takes a member away.
void overlay_settings(Json& body, const Json& settings);

// All system messages, joined by blank lines; "" if there is none.
std::string system_text(const MessageList& messages);

// Base URL and path, with one slash between them.
std::string joined_url(std::string_view base, std::string_view path);

// A feature that a provider does not have. `message` says what to do instead.
Error unsupported_feature(std::string_view provider, std::string message);

// Whether the response is a JSON document rather than a stream of events, by its content type.
bool is_json_response(const HttpResponseHead& head);

}  // namespace allm
