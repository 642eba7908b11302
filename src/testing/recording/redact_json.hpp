// Secrets taken out of JSON that is written to recordings and compared with them. In place; pure; any thread.
#pragma once

#include <string_view>

#include "allm/json.hpp"

namespace allm {

// redact() for every text and every key in the value. Keys that become equal are numbered. The data of images stays as
// it is: no key can be read in it, and what only looks like one must not break the image.
void redact_value(Json& value, std::string_view provider_key);

// The same for the events of one stream, an array of what event_to_json gives. Deltas are pieces of one text: a secret
// that is spread over them is found, and a word that is cut in two is not taken for one.
void redact_events(Json& events, std::string_view provider_key);

}  // namespace allm
