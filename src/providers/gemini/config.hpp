// Writes the settings of a request with Gemini's names and structure. Pure; safe to call from any thread.
#pragma once

#include "allm/adapter.hpp"

#include "providers/gemini/gemini.hpp"

namespace allm {

// Writes `generationConfig` and the settings beside it into a body that contains everything else. Fails like
// gemini_body.
Status write_gemini_config(Json& body, const GeminiCodecOptions& options, const AdapterCall& call);

}  // namespace allm
