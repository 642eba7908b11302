// Anthropic's token counts. Pure; any thread.
#pragma once

#include "allm/response.hpp"

namespace allm {

// Lays newer counts over older ones. Null says nothing, so it erases nothing.
void merge_anthropic_usage(Json& counts, const Json& newer);
// The wire counts prompt tokens apart from those that were read from or written to the cache; Usage counts all of them
// as input. Their own number is in `extra.uncached_input_tokens`.
Usage anthropic_usage(const Json& counts);

}  // namespace allm
