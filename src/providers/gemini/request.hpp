// The body of a request: everything around the contents. Any thread; files of images are read.
#pragma once

#include "allm/adapter.hpp"

#include "providers/gemini/gemini.hpp"

namespace allm {

// Fails with ValidationError for what can never be sent, and with AdapterError `unsupported_feature` for what this
// provider cannot do.
Result<Json> gemini_body(const GeminiCodecOptions& options, const AdapterCall& call);

}  // namespace allm
