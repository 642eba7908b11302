// Redacts JSON that is written to recordings and compared with them. The functions change the value in place. Safe to
// call from any thread.
#pragma once

#include <string_view>

#include "allm/json.hpp"

namespace allm {

// Applies redact() to every text and every member name in the value. Names that become equal are numbered. The data of
// images, files and audio stays as it is: redacting bytes that only look like a key would break it.
void redact_value(Json& value, std::string_view provider_key);

// The same for the events of one stream: an array of values of event_to_json. The deltas of the text, of the
// reasoning, of a call's arguments and of raw chunks are each redacted as one text: a secret that is spread over
// several deltas is found, and a word that is cut in two is not mistaken for a secret.
void redact_events(Json& events, std::string_view provider_key);

}  // namespace allm
