// The conversation behind a request body: a provider's form read back into the neutral one, as far as transcripts go.
#pragma once

#include <memory>
#include <string>

#include "allm/adapter.hpp"

#include "providers/codec.hpp"

namespace allm {

enum class WireForm : std::uint8_t { chat, responses, anthropic, gemini };

// The request that a codec would write this body for. Assistant turns come back with their text and calls: what else
// they hold is the decoder's to say. Members that are no neutral fields become `options`. Throws Json's exceptions on a
// body that has not the form.
Request read_wire_request(const Json& body, WireForm form);

}  // namespace allm
