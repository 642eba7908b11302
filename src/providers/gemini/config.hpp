// Settings of a request, by Gemini's names and in Gemini's places. Pure; any thread.
#pragma once

#include "allm/adapter.hpp"

#include "providers/gemini/gemini.hpp"

namespace allm {

// Writes `generationConfig` and what the settings say beside it into a body that has everything else. Fails as
// gemini_body does.
Status write_gemini_config(Json& body, const GeminiCodecOptions& options, const AdapterCall& call);

}  // namespace allm
