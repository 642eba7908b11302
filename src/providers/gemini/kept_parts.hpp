// Keeps the parts of an answer that allm::Message has no field for in its metadata. Pure functions; safe to call from
// any thread.
#pragma once

#include <string_view>
#include <vector>

#include "allm/message.hpp"
#include "allm/tool.hpp"

namespace allm {

// Stores the parts in the message, unless its text and calls already contain everything.
void keep_parts(Message& message, Json parts);
// The parts to send for an assistant message: the kept ones, or parts made from its text and calls if these have been
// changed since. `tools` are those of the request.
Json sendable_parts(const Message& message, const std::vector<Tool>& tools);
// Whether the provider itself gave this id to a call of the message. Other ids are not sent to it.
bool has_provider_id(const Message& message, std::string_view call_id);

}  // namespace allm
