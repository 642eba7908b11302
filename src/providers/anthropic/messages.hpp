// Writes a conversation in the form of the Messages API: alternating turns of user and assistant, without empty text.
// Reads the files that parts name. Safe to call from any thread.
#pragma once

#include <vector>

#include "allm/thread.hpp"
#include "allm/tool.hpp"

namespace allm {

// The member `messages`. Successive messages of one role become one turn, in which tool results come first. Empty turns
// are left out. Fails with ValidationError `invalid_message` for content that no provider accepts, and with
// AdapterError `unsupported_feature` for parts that this provider does not accept. `tools` are those of the request.
Result<Json> anthropic_messages(const MessageList& messages, const std::vector<Tool>& tools);

}  // namespace allm
