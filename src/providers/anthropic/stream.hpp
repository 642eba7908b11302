// Decodes a streamed answer. One thread at a time.
#pragma once

#include "providers/anthropic/answer.hpp"
#include "providers/sse_decoder.hpp"

namespace allm {

class AnthropicStream final : public SseDecoder {
 public:
  AnthropicStream(AnthropicAnswer answer, HttpResponseHead head, bool include_raw_chunks);

  bool has_answer() const override { return answer_.has_stop_reason(); }

  void set_limits(const DecoderLimits& limits) override;

 private:
  void complete_answer(std::vector<Event>& events);
  bool take_common(std::string_view data, std::vector<Event>& events) override;
  void take_chunk(std::string_view name, const Json& chunk, std::vector<Event>& events) override;
  void end(std::string_view stray, std::vector<Event>& events) override;
  void before_error(std::vector<Event>& events) override;

  // Returns an error message, or "" if the chunk is valid.
  std::string take_delta(std::int64_t index, const Json& delta, std::vector<Event>& events);

  AnthropicAnswer answer_;
  HttpResponseHead head_;
};

}  // namespace allm
