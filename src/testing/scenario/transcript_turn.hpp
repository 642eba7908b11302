// Reads the model's earlier messages from a request body.
#pragma once

#include "allm/message.hpp"

namespace allm {

// Each function adds text and tool calls to `message`. The provider's state (signatures, reasoning) is left out. All
// throw Json's exceptions if the value does not have the form.

// An assistant message of Chat Completions.
void read_chat_turn(const Json& wire, Message& message);
// One item of a Responses input.
void read_responses_item(const Json& item, Message& message);
// The content of an Anthropic message: a text or blocks.
void read_anthropic_turn(const Json& content, Message& message);
// The parts of a Gemini content.
void read_gemini_turn(const Json& parts, Message& message);

}  // namespace allm
