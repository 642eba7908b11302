// Token counts of both endpoints. Pure; safe to call from any thread.
#pragma once

#include "allm/json.hpp"
#include "allm/response.hpp"

namespace allm::openai_wire {

// Reads a `usage` object. Counts that Usage has no member for go into `extra`. Negative counts are ignored.
Usage chat_usage(const Json& usage);
Usage responses_usage(const Json& usage);

}  // namespace allm::openai_wire
