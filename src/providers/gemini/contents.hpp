// Writes a conversation in Gemini's form: contents of user and model. Reads the files that parts name. Safe to call
// from any thread.
#pragma once

#include <string_view>
#include <vector>

#include "allm/thread.hpp"
#include "allm/tool.hpp"

#include "providers/gemini/gemini.hpp"

namespace allm {

// The member `contents`. All tool results of one turn are one content, in the order of the calls. Fails with
// ValidationError `invalid_message` for content that no provider accepts, and with AdapterError `unsupported_feature`
// for parts that this provider does not accept; `model` decides whether tool results may contain media, and whether
// calls need thought signatures. `tools` are those of the request.
Result<Json> gemini_contents(const MessageList& messages, const GeminiCodecOptions& options, std::string_view model,
                             const std::vector<Tool>& tools);

}  // namespace allm
