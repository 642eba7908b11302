// A conversation as the Messages API wants it: turns of user and assistant that alternate, without empty text. Any
// thread; files that parts name are read.
#pragma once

#include "allm/thread.hpp"

namespace allm {

// The member `messages`. Neighbours of one role become one turn: what tools answered first, then everything else. What
// would be left empty is left out. Fails with ValidationError `invalid_message` for content that can never be sent, and
// with AdapterError `unsupported_feature` for parts that the provider does not carry.
Result<Json> anthropic_messages(const MessageList& messages);

}  // namespace allm
