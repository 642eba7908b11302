// What a reasoning model on the Responses endpoint wants back: the items of its answer, in order, in the form in which
// a request takes them. Kept as JSON in the assistant message, so that it survives being stored. Pure; any thread.
#pragma once

#include <span>

#include "allm/message.hpp"

namespace allm::openai_wire {

// The items of a response's `output` as input items: reasoning as it came, messages and calls in their plain forms.
// Reasoning that nothing follows is left out, because it is refused. Null if no reasoning is left: the message's own
// text and calls say everything then.
Json replayable_items(const Json& output);

// Whether the items still say what the message says.
bool matches(const Json& items, const Message& message);

// A call and a text as input items.
Json call_item(std::string_view call_id, std::string_view name, std::string_view arguments);
Json text_item(std::string_view text);

// The text of a `message` item: its output_text parts, joined.
std::string item_text(const Json& item);

}  // namespace allm::openai_wire
