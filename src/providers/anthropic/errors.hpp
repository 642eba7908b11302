// Anthropic's errors, as responses and as events of a stream. Pure; any thread.
#pragma once

#include <string_view>

#include "allm/json.hpp"

#include "http/exchange.hpp"

namespace allm {

// Of a response of status 400 and above.
Error anthropic_failure(const HttpResponseHead& head, std::string_view body);
// Of {"type": "error", "error": {"type", "message"}} in a response that began well; the head is that response's.
Error anthropic_event_error(const HttpResponseHead& head, const Json& chunk);

}  // namespace allm
