// Decodes a streamed answer. One thread at a time.
#pragma once

#include "providers/gemini/answer.hpp"
#include "providers/sse_decoder.hpp"

namespace allm {

// Only the end of the body ends the answer: a finish reason may come several times, and token counts may follow it.
class GeminiStream final : public SseDecoder {
 public:
  GeminiStream(GeminiAnswer answer, bool include_raw_chunks);

  bool has_answer() const override { return answer_.has_finish(); }

  void set_limits(const DecoderLimits& limits) override;

 private:
  bool take_common(std::string_view data, std::vector<Event>& events) override;
  void take_chunk(std::string_view name, const Json& chunk, std::vector<Event>& events) override;
  void end(std::string_view stray, std::vector<Event>& events) override;

  void fail_if_too_large(std::vector<Event>& events);

  GeminiAnswer answer_;
};

}  // namespace allm
