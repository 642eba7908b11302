// Keeps the parts of an answer that allm::Message has no field for in its metadata. Pure functions; safe to call from
// any thread.
#pragma once

#include <string_view>
#include <unordered_set>
#include <vector>

#include "allm/message.hpp"
#include "allm/tool.hpp"

namespace allm {

// Stores the parts in the message, unless its text and calls already contain everything.
void keep_parts(Message& message, Json parts);
// The parts to send for an assistant message: the kept ones, or parts made from its text and calls if these have been
// changed since. `tools` are those of the request.
Json sendable_parts(const Message& message, const std::vector<Tool>& tools);
// The ids that the provider itself gave to calls of the message. Other ids are not sent to it. The views are those of
// the message.
using ProviderIds = std::unordered_set<std::string_view>;
ProviderIds provider_ids(const Message& message);

}  // namespace allm
