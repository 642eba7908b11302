// The state that a reasoning model on the Responses endpoint needs in the next request: the items of its answer, as
// input items. Stored as JSON in the assistant message. Pure; safe to call from any thread.
#pragma once

#include <span>

#include "allm/message.hpp"

namespace allm::openai_wire {

// The items of a response's `output` as input items: reasoning unchanged, messages and calls in their input form,
// messages with their `phase`. Reasoning at the end is left out, because the API refuses it. Null if neither reasoning
// nor a phase is left: the message's text and calls are enough then.
Json replayable_items(const Json& output);

// Whether the items have the same text and calls as the message.
bool matches(const Json& items, const Message& message);

// A call and a text as input items.
Json call_item(std::string_view call_id, std::string_view name, std::string_view arguments);
Json text_item(std::string_view text);

// The text of a `message` item: its output_text parts, joined.
std::string item_text(const Json& item);

}  // namespace allm::openai_wire
