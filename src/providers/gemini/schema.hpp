// Converts JSON Schema to Gemini's dialect of OpenAPI. Pure; safe to call from any thread.
#pragma once

#include "allm/json.hpp"

namespace allm {

// The schema with only the keywords that the API supports: local references are inlined, `["string", "null"]` becomes
// `nullable`, `oneOf` becomes `anyOf`, `allOf` is merged. Other rules are moved into the description, where the model
// sees them. Fails with AdapterError `unsupported_feature` for schemas that are recursive or become too large by
// inlining.
Result<Json> gemini_schema(const Json& schema);

}  // namespace allm
