// A conversation as Gemini wants it: contents of user and model. Any thread; files that parts name are read.
#pragma once

#include <string_view>

#include "allm/thread.hpp"

#include "providers/gemini/gemini.hpp"

namespace allm {

// The member `contents`. What tools answered to one turn of the model is one content, in the order of the calls. Fails
// with ValidationError `invalid_message` for content that cannot be sent, and with AdapterError `unsupported_feature`
// for parts that the provider does not carry; `model` decides what results of tools may hold.
Result<Json> gemini_contents(const MessageList& messages, const GeminiCodecOptions& options, std::string_view model);

}  // namespace allm
