// Parts of a call that all codecs read in the same way. Pure functions; safe to call from any thread.
#pragma once

#include <string>
#include <string_view>

#include "allm/adapter.hpp"

#include "http/exchange.hpp"
#include "providers/codec.hpp"

namespace allm {

// The model to call. Fails with EngineError `missing_model`.
Result<std::string> called_model(const AdapterCall& call, std::string_view provider);

// The provider settings by the caller's names: the request's, overwritten by the call's, without allm's own options
// (timeouts, retries, keys) and without `stream`, which answer_form() reads.
Json provider_settings(const AdapterCall& call);
// Removes a setting and returns its value; null if there is none.
Json take_setting(Json& settings, std::string_view name);
// A setting that is a text or a list of texts, as a list.
Json as_list(Json value);
// Overwrites members of a body with settings. A null removes the member.
void overlay_settings(Json& body, const Json& settings);

// All system messages, joined by blank lines; "" if there is none.
std::string system_text(const MessageList& messages);

// Base URL and path, with one slash between them.
std::string joined_url(std::string_view base, std::string_view path);

// AdapterError `unsupported_feature`. `message` says what to do instead.
Error unsupported_feature(std::string_view provider, std::string message);

// Whether the response is a document and not a stream of events: the content type says so, or a document was asked for
// and the content type does not say that it is a stream.
bool is_whole_response(const HttpResponseHead& head, AnswerForm asked_for);

}  // namespace allm
