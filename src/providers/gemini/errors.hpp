// Google's errors, as responses and within a stream. Pure; any thread.
#pragma once

#include <string_view>

#include "allm/json.hpp"

#include "http/exchange.hpp"

namespace allm {

// Of a response of status 400 and above.
Error gemini_failure(const HttpResponseHead& head, std::string_view body);
// Of {"error": {"code", "message", "status", "details"}} in a response that began well.
Error gemini_event_error(const Json& chunk);

}  // namespace allm
