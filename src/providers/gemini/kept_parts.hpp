// The parts of an answer that neutral content cannot express, kept in the message's metadata. Pure functions; any
// thread.
#pragma once

#include <string_view>

#include "allm/message.hpp"

namespace allm {

// Keeps the parts with the message, unless its neutral content says all that is in them.
void keep_parts(Message& message, Json parts);
// The parts to send for an assistant message: those that were kept, if its text and calls are still those of the parts,
// else its text and calls.
Json sendable_parts(const Message& message);
// Whether the provider itself gave this id to a call of the message. Others mean nothing to it.
bool has_provider_id(const Message& message, std::string_view call_id);

}  // namespace allm
