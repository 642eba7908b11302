// Decodes an answer that is one JSON document: a response, or the list of responses that a stream without `alt=sse`
// consists of. One thread at a time.
#pragma once

#include "providers/gemini/answer.hpp"
#include "providers/whole_decoder.hpp"

namespace allm {

class GeminiBody final : public WholeDecoder {
 public:
  GeminiBody(GeminiAnswer answer, bool include_raw_chunks);

  void set_limits(const DecoderLimits& limits) override;

 private:
  void take_document(const Json& document, std::vector<Event>& events) override;

  GeminiAnswer answer_;
};

// Adds the response, or each response of a list.
void take_gemini_responses(const Json& document, GeminiAnswer& answer, std::vector<Event>& events);

}  // namespace allm
