// Reads a provider's request body back into a Request. Supports what the transcripts use.
#pragma once

#include <memory>
#include <string>

#include "allm/adapter.hpp"

#include "providers/codec.hpp"

namespace allm {

enum class WireForm : std::uint8_t { chat, responses, anthropic, gemini };

// The request from which a codec would write this body. Assistant messages have only their text and calls, without the
// provider's state. Members that have no field in Request become options. Throws Json's exceptions if the body does not
// have this form.
Request read_wire_request(const Json& body, WireForm form);

}  // namespace allm
