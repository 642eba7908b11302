// Settings that a model refuses. Those that are known are left out of the request; one that the server refuses is left
// out of a second request. Pure functions; safe to call from any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "allm/adapter.hpp"

#include "http/exchange.hpp"
#include "providers/codec.hpp"

namespace allm {

// Removes the settings that the called model refuses from a request's body, and reports those whose value is not the
// model's default to AdapterCall::warn. What a model refuses is `ModelRef::refuses` of the call's model and, for names
// that are missing there, of the entry for `provider` in the built-in catalogue. docs/models.md describes the rules.
void leave_out_refused(const AdapterCall& call, std::string_view provider, Json& body);

// Whether the called model has a capability, from the same two places; nullopt if that is unknown.
std::optional<bool> model_capability(const AdapterCall& call, std::string_view provider, std::string_view name);

// The setting in `body` that the error of a server names as one that it does not accept, as a path
// ("output_config.effort"); nullopt if there is none. Only settings without which the answer still answers the request
// are recognised: an error about messages, tools or token limits stays an error.
std::optional<std::string> refused_setting(const Json& body, std::string_view error);

// `sent` without the setting that the error response refuses, and with `headers` instead of its own. nullopt if the
// response does not refuse a setting.
std::optional<FallbackRequest> without_refused_setting(const HttpRequest& sent, const HttpHeaders& headers,
                                                       const HttpResponseHead& head, std::string_view error);

// The warning about a setting that is left out.
AdapterWarning left_out_warning(std::string_view setting, std::string_view model, std::string_view why);

}  // namespace allm
