// The events of a model as JSON, both ways: {"type": "text_delta", "delta": "Hello"}. Values within them have the form
// of docs/session-format.md. parse(write(e)) == e. Pure functions; any thread.
#pragma once

#include "allm/event.hpp"
#include "allm/json.hpp"

namespace allm {

// Fails with AdapterError `malformed_response` for the kinds that no model gives.
Result<Json> event_to_json(const Event& event);

// Fails with ValidationError `invalid_request` and the path within the event: missing, invalid_type, unknown_type,
// unknown_field, or what reading a value in it fails with.
Result<Event> event_from_json(const Json& json);

}  // namespace allm
