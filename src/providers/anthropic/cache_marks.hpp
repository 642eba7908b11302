// Marks in a request where the prefix ends that the provider caches. Pure; safe to call from any thread.
#pragma once

#include "allm/request.hpp"

namespace allm {

// Marks the end of the conversation, of the system prompt and of the tools, in this order, as long as the body has
// fewer marks than the provider allows; marks of the caller count. Texts become blocks, whether they are marked or not,
// so that a message that is no longer the last one keeps its bytes.
void add_cache_marks(const PromptCache& cache, Json& body);

}  // namespace allm
