// The decoders of the two endpoints.
#pragma once

#include <memory>

#include "providers/openai/stream_decoder.hpp"

namespace allm::openai_wire {

std::unique_ptr<BodyDecoder> chat_decoder(DecoderContext context);
std::unique_ptr<BodyDecoder> responses_decoder(DecoderContext context);

}  // namespace allm::openai_wire
