// What an error of an OpenAI-like server means. Pure; any thread.
#pragma once

#include <string_view>

#include "providers/failures.hpp"

namespace allm::openai_wire {

// For a response of a status of 400 and above.
Error http_failure(std::string_view provider, const HttpResponseHead& head, std::string_view body);
// For an error within a response of status 200. `report` must not be empty.
Error inband_failure(std::string_view provider, const FailureReport& report);

}  // namespace allm::openai_wire
