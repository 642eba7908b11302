// Writes the body of a request: everything around the messages. Reads the files that parts name. Safe to call from any
// thread.
#pragma once

#include "allm/adapter.hpp"

#include "providers/anthropic/anthropic.hpp"

namespace allm {

// Fails with EngineError `missing_model`, with ValidationError for content that no provider accepts, and with
// AdapterError `unsupported_feature` for features that this provider does not have.
Result<Json> anthropic_body(const AnthropicCodecOptions& options, const AdapterCall& call, AnswerForm form);

}  // namespace allm
