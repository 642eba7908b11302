// Validation: the rules for values that are sent to a model. The functions that run models call these functions
// themselves. Each fails with a ValidationError that has every error with its path, in the order of the checks. Safe to
// call from any thread.
#pragma once

#include "allm/request.hpp"
#include "allm/session.hpp"

namespace allm {

// The comments name the reason of the ValidationError.
Status validate(const Message& message);  // invalid_message
Status validate(const Tool& tool);        // invalid_tool
Status validate(const Thread& thread);    // invalid_thread; an empty thread is valid
Status validate(const Request& request);  // invalid_request
Status validate(const Session& session);  // invalid_session

// Reads messages from a plain JSON array, as people write conversations:
//   ["hi", {"role": "assistant", "content": "hello"}, …]
// A bare string is a user message. Fails with a ValidationError that has the given reason, and every error with the
// path and the reason that validate(Thread) would give.
Result<std::vector<Message>> messages_from_json(
    const Json& json, ValidationError::Reason reason = ValidationError::Reason::invalid_thread);

// Reads the parts of a message from a plain JSON array. An element has one of these forms, or the tagged form of
// allm/serialize.hpp; `|` separates the possible sources, of which an element has exactly one:
//   {"type": "text", "text"}
//   {"type": "image", "url" | "base64" | "file", "mime_type", "detail"}
//   {"type": "file", "url" | "base64" | "file" | "file_id", "mime_type", "name"}
//   {"type": "audio", "url" | "base64" | "file", "mime_type"}
// Fails with ValidationError `invalid_message`.
Result<std::vector<Part>> parts_from_json(const Json& json);

}  // namespace allm
