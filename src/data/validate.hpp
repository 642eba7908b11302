// Validation for the layers above, which check a growing thread step by step. The rules are those of
// allm/validate.hpp. Valid values cost no allocation. Safe to call from any thread.
#pragma once

#include <cstddef>
#include <vector>

#include "allm/validate.hpp"

namespace allm {

// Adds the errors in a message; each path begins with `prefix`.
void check_message(const Message& message, const Path& prefix, std::vector<FieldError>& errors);

// Adds the errors in the messages from index `from` on, at ["messages", i, field].
void check_messages(const MessageList& messages, std::size_t from, std::vector<FieldError>& errors);

// Fails with ValidationError `invalid_request` if two tools have one name.
Status check_tool_names(const std::vector<Tool>& tools);

// Values of untyped origin (an engine's params) that could not be put into a Request because they
// have the wrong type.
struct WrongTypes {
  bool bad_temperature = false;
  bool bad_max_tokens = false;
  bool bad_response_format = false;
  bool bad_prompt_cache = false;
};

// validate(Request), looking only at the messages from index `messages_from` on, and with `wrong`
// reported in their places.
Status check_request(const Request& request, std::size_t messages_from, const WrongTypes& wrong);

}  // namespace allm
