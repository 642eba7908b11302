// Gemini's token counts. Pure; safe to call from any thread.
#pragma once

#include "allm/response.hpp"

namespace allm {

// Reads `usageMetadata`. Gemini counts thoughts separately from the answer; Usage::output_tokens includes both.
Usage gemini_usage(const Json& counts);

}  // namespace allm
