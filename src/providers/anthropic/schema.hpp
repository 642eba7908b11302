// Converts JSON Schema to the form that Anthropic's structured output accepts. Pure; safe to call from any thread.
#pragma once

#include "allm/json.hpp"

namespace allm {

// Sets `additionalProperties` to false in every object, turns `oneOf` into `anyOf`, and moves rules that the provider
// refuses (ranges, lengths, patterns, most formats) into the description, where the model sees them.
Json anthropic_schema(const Json& schema);

}  // namespace allm
