// The content blocks of an answer that neutral content cannot express, kept in the message's metadata. Pure functions;
// any thread.
#pragma once

#include "allm/message.hpp"

namespace allm {

// Keeps the blocks with the message, unless its neutral content says all that is in them.
void keep_blocks(Message& message, Json blocks);
// The blocks that were kept, or null: also if the message's text or calls are no longer those of the blocks.
const Json* kept_blocks(const Message& message);

// The blocks of neutral content: the text, then the calls.
Json plain_blocks(const Message& message);

}  // namespace allm
