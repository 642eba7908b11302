// Google's errors, as responses and within a stream. Pure; safe to call from any thread.
#pragma once

#include <string_view>

#include "allm/json.hpp"

#include "http/exchange.hpp"

namespace allm {

// The error of a response with status 400 or above.
Error gemini_error(const HttpResponseHead& head, std::string_view body);
// The error of {"error": {"code", "message", "status", "details"}} in a response whose status was not an error.
Error gemini_event_error(const Json& chunk);

}  // namespace allm
