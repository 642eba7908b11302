// JSON Schema in Gemini's dialect of OpenAPI. Pure; any thread.
#pragma once

#include "allm/json.hpp"

namespace allm {

// The schema with only the keywords that the API knows: local references inlined, `["string", "null"]` as `nullable`,
// `oneOf` as `anyOf`, `allOf` merged. Rules that it has no word for are written into the description, where the model
// sees them. Fails with AdapterError `unsupported_feature` for schemas that refer to themselves, or grow too large by
// inlining.
Result<Json> gemini_schema(const Json& schema);

}  // namespace allm
