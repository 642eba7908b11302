// Reads an answer that came as one JSON document: a response, or the list of them that a stream without `alt=sse` is.
// One thread at a time.
#pragma once

#include "providers/gemini/answer.hpp"
#include "providers/whole_decoder.hpp"

namespace allm {

class GeminiBody final : public WholeDecoder {
 public:
  GeminiBody(GeminiAnswer answer, bool include_raw_chunks);

 private:
  void take_document(const Json& document, std::vector<Event>& events) override;

  GeminiAnswer answer_;
};

// Takes the response, or each of a list of them.
void take_gemini_responses(const Json& document, GeminiAnswer& answer, std::vector<Event>& events);

}  // namespace allm
