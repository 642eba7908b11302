// Writes the body of a request: everything around the contents. Reads the files that parts name. Safe to call from any
// thread.
#pragma once

#include "allm/adapter.hpp"

#include "providers/gemini/gemini.hpp"

namespace allm {

// Fails with ValidationError for content that no provider accepts, and with AdapterError `unsupported_feature` for
// features that this provider does not have.
Result<Json> gemini_body(const GeminiCodecOptions& options, const AdapterCall& call);

}  // namespace allm
