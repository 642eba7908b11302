#include "providers/gemini/stream.hpp"

#include <array>
#include <optional>
#include <utility>

#include "providers/gemini/body.hpp"
#include "providers/gemini/errors.hpp"
#include "providers/gemini/gemini.hpp"
#include "providers/gemini/text_chunk.hpp"
#include "providers/provider_errors.hpp"
#include "providers/provider_json.hpp"

namespace allm {
namespace {

constexpr std::array<std::string_view, 1> kPieces = {"candidates.content.parts.text"};

}  // namespace

GeminiStream::GeminiStream(GeminiAnswer answer, bool include_raw_chunks)
    : SseDecoder(kGemini, include_raw_chunks, kPieces), answer_(std::move(answer)) {}

void GeminiStream::set_limits(const DecoderLimits& limits) {
  SseDecoder::set_limits(limits);
  answer_.set_limits(limits.answer);
}

void GeminiStream::fail_if_too_large(std::vector<Event>& events) {
  if (answer_.is_too_large() && !has_ended()) fail_malformed(answer_.error(), {}, events);
}

bool GeminiStream::take_common(std::string_view data, std::vector<Event>& events) {
  const std::optional<GeminiTextChunk> chunk = read_gemini_text(data);
  if (!chunk) return false;
  answer_.start(events);
  answer_.add_text(chunk->text, events);
  answer_.note_finish(chunk->finish_reason);
  answer_.note_origin(chunk->id, chunk->model);
  if (!chunk->usage.empty()) answer_.note_usage_text(chunk->usage);
  fail_if_too_large(events);
  return true;
}

void GeminiStream::take_chunk(std::string_view /*name*/, const Json& chunk, std::vector<Event>& events) {
  if (find_member(chunk, "error") != nullptr) return fail(gemini_event_error(chunk), events);
  answer_.take(chunk, events);
  fail_if_too_large(events);
}

void GeminiStream::end(std::string_view stray, std::vector<Event>& events) {
  // An error or a whole answer may come as a JSON document, instead of the stream or after it.
  if (const std::optional<Json> document = stray.empty() ? std::nullopt : parse_provider_json(stray)) {
    const Json& first = document->is_array() && document->size() == 1 ? document->front() : *document;
    if (find_member(first, "error") != nullptr) return fail(gemini_event_error(first), events);
    if (!answer_.has_candidate()) take_gemini_responses(*document, answer_, events);
    fail_if_too_large(events);
    if (has_ended()) return;
  }
  if (answer_.is_blocked()) return complete(answer_.complete_blocked(false, events), events);
  if (!answer_.has_finish()) {
    if (!fail_if_text(events)) fail(truncated_stream(kGemini), events);
    return;
  }
  std::optional<MessageCompleted> message = answer_.complete(events);
  if (!message) return fail_malformed("its usageMetadata is not valid JSON", {}, events);
  complete(*std::move(message), events);
}

}  // namespace allm
