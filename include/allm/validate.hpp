// Validation: the rules for values that are sent to a model. Every error is reported with its path, in rule order. The
// functions that run models call these functions themselves. Safe to call from any thread.
#pragma once

#include "allm/request.hpp"
#include "allm/session.hpp"

namespace allm {

Status validate(const Message& message);  // invalid_message
Status validate(const Tool& tool);        // invalid_tool
Status validate(const Thread& thread);    // invalid_thread; an empty thread is valid
Status validate(const Request& request);  // invalid_request
Status validate(const Session& session);  // invalid_session

// Reads messages from a plain JSON array, as people write conversations:
//   ["hi", {"role": "assistant", "content": "hello"}, …]
// A bare string is a user message. All errors are reported at once, with the paths and reasons of
// validate(Thread), in a ValidationError of the given reason.
Result<std::vector<Message>> messages_from_json(
    const Json& json, ValidationError::Reason reason = ValidationError::Reason::invalid_thread);

// The parts of a message from a plain JSON array: {"type": "text", "text"}, and with one source each {"type": "image",
// "url" | "base64" | "file", "mime_type", "detail"}, {"type": "file", "url" | "base64" | "file" | "file_id",
// "mime_type", "name"} and {"type": "audio", "url" | "base64" | "file", "mime_type"}; or tagged ones. Fails with
// ValidationError `invalid_message`.
Result<std::vector<Part>> parts_from_json(const Json& json);

}  // namespace allm
