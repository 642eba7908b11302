// Anthropic's token counts. Pure; safe to call from any thread.
#pragma once

#include "allm/response.hpp"

namespace allm {

// Overwrites older counts with newer ones; nulls are ignored.
void merge_anthropic_usage(Json& counts, const Json& newer);
// Anthropic's `input_tokens` exclude tokens that were read from or written to the cache; Usage::input_tokens includes
// them. Anthropic's number is in `extra.uncached_input_tokens`. Its `thinking_tokens`, which are a part of the output,
// are Usage::reasoning_tokens.
Usage anthropic_usage(const Json& counts);

}  // namespace allm
