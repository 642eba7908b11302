// JSON Schema as Anthropic's structured output accepts it. Pure; any thread.
#pragma once

#include "allm/json.hpp"

namespace allm {

// The schema with every object closed, `oneOf` as `anyOf`, and rules that the provider refuses (ranges, lengths,
// patterns, most formats) written into the description, where the model sees them.
Json anthropic_schema(const Json& schema);

}  // namespace allm
