// Keeps the content blocks of an answer that allm::Message has no field for in its metadata. Pure functions; safe to
// call from any thread.
#pragma once

#include "allm/message.hpp"

namespace allm {

// Stores the blocks in the message, unless its text and calls already contain everything.
void keep_blocks(Message& message, Json blocks);
// The blocks that were kept. Null if no blocks were kept, or if the message's text or calls have been changed since.
const Json* kept_blocks(const Message& message);

// Blocks made from the message's text and calls, in this order.
Json plain_blocks(const Message& message);

}  // namespace allm
