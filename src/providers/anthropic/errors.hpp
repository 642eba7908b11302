// Anthropic's errors, as responses and as events of a stream. Pure; safe to call from any thread.
#pragma once

#include <string_view>

#include "allm/json.hpp"

#include "http/exchange.hpp"

namespace allm {

// The error of a response with status 400 or above.
Error anthropic_error(const HttpResponseHead& head, std::string_view body);
// The error of {"type": "error", "error": {"type", "message"}} in a response whose status was not an error; `head` is
// the head of that response.
Error anthropic_event_error(const HttpResponseHead& head, const Json& chunk);

}  // namespace allm
