// Writes a model's events as JSON and reads them: {"type": "text_delta", "delta": "Hello"}. Values in them have the
// form of docs/session-format.md. parse(write(e)) == e. Pure functions; safe to call from any thread.
#pragma once

#include "allm/event.hpp"
#include "allm/json.hpp"

namespace allm {

// Fails with AdapterError `malformed_response` for events that only the loop or the tool runner may produce.
Result<Json> event_to_json(const Event& event);

// Fails with ValidationError `invalid_request` and the path within the event. The reason of the field is missing,
// invalid_type, unknown_type, unknown_field, or the reason for which a value in the event could not be read.
Result<Event> event_from_json(const Json& json);

}  // namespace allm
