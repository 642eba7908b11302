// Gemini's token counts. Pure; any thread.
#pragma once

#include "allm/response.hpp"

namespace allm {

// From `usageMetadata`. The wire counts thoughts apart from the answer; Usage counts both as output.
Usage gemini_usage(const Json& counts);

}  // namespace allm
