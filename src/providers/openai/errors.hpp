// Errors of servers that speak OpenAI's protocol. Pure; safe to call from any thread.
#pragma once

#include <string_view>

#include "providers/provider_errors.hpp"

namespace allm::openai_wire {

// The error of a response with status 400 or above.
Error http_error(std::string_view provider, const HttpResponseHead& head, std::string_view body);
// The error of an error object within a response of status 200. `report` must not be empty.
Error inband_error(std::string_view provider, const ErrorReport& report);

}  // namespace allm::openai_wire
