// Tokens as both endpoints report them. Pure; any thread.
#pragma once

#include "allm/json.hpp"
#include "allm/response.hpp"

namespace allm::openai_wire {

// The counters of a `usage` object; what has no counter of its own goes to `extra`. Negative counts are ignored.
Usage chat_usage(const Json& usage);
Usage responses_usage(const Json& usage);

}  // namespace allm::openai_wire
