// The body of a request: everything around the messages. Any thread; files of images are read.
#pragma once

#include "allm/adapter.hpp"

#include "providers/anthropic/anthropic.hpp"

namespace allm {

// Fails with EngineError `missing_model`, with ValidationError for what can never be sent, and with AdapterError
// `unsupported_feature` for what this provider cannot do.
Result<Json> anthropic_body(const AnthropicCodecOptions& options, const AdapterCall& call, AnswerForm form);

}  // namespace allm
