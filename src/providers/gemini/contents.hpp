// A conversation as Gemini wants it: contents of user and model. Any thread; files of images are read.
#pragma once

#include "allm/thread.hpp"

#include "providers/gemini/gemini.hpp"

namespace allm {

// The member `contents`. What tools answered to one turn of the model is one content, in the order of the calls. Fails
// with ValidationError `invalid_message` for content that cannot be sent, and with AdapterError `unsupported_feature`
// for images where the provider takes none.
Result<Json> gemini_contents(const MessageList& messages, const GeminiCodecOptions& options);

}  // namespace allm
