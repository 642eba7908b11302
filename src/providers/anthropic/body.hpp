// Decodes an answer that is one JSON document. One thread at a time.
#pragma once

#include "providers/anthropic/answer.hpp"
#include "providers/whole_decoder.hpp"

namespace allm {

class AnthropicBody final : public WholeDecoder {
 public:
  AnthropicBody(AnthropicAnswer answer, HttpResponseHead head, bool include_raw_chunks);

  void set_limits(const DecoderLimits& limits) override;

 private:
  void take_document(const Json& document, std::vector<Event>& events) override;

  AnthropicAnswer answer_;
  HttpResponseHead head_;
};

// Produces the events that a stream of the same answer would have given, including the terminal event.
void take_anthropic_document(const Json& document, AnthropicAnswer& answer, const HttpResponseHead& head,
                             std::vector<Event>& events);

}  // namespace allm
