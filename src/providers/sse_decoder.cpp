#include "providers/sse_decoder.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "providers/provider_errors.hpp"
#include "providers/provider_json.hpp"

namespace allm {
namespace {

// Whether an event without the blank line after it was cut off: it is the beginning of a JSON object or of an end mark.
bool is_cut_off(std::string_view data) {
  data = data.substr(std::min(data.find_first_not_of(' '), data.size()));
  if (data.starts_with("[DONE]")) return false;
  return (data.starts_with('{') || data.starts_with('[')) && !parse_provider_json(data);
}

}  // namespace

SseDecoder::SseDecoder(std::string_view provider, bool include_raw_chunks, PiecePaths pieces)
    : provider_(provider), include_raw_chunks_(include_raw_chunks), pieces_(pieces) {}

void SseDecoder::set_limits(const DecoderLimits& limits) {
  max_body_bytes_ = limits.max_body_bytes;
  parser_.set_max_event_bytes(limits.max_event_bytes);
}

void SseDecoder::feed(std::string_view bytes, std::vector<Event>& events) {
  if (done_) return;
  // Truncated at the limit, so that the events do not depend on how the body is split.
  const bool too_long = bytes.size() > max_body_bytes_ - received_;
  if (too_long) bytes = bytes.substr(0, max_body_bytes_ - received_);
  received_ += bytes.size();
  parser_.feed(bytes);
  while (!done_) {
    const std::optional<SseEvent> event = parser_.next();
    if (!event) break;
    take(*event, events);
  }
  check_size(events);
  if (too_long && !done_) fail_malformed(too_large_body(max_body_bytes_), {}, events);
}

void SseDecoder::finish(std::vector<Event>& events) {
  while (!done_) {
    const std::optional<SseEvent> event = parser_.finish();
    if (!event || is_cut_off(event->data)) break;
    take(*event, events);
  }
  check_size(events);
  if (!done_) end(parser_.stray(), events);
}

void SseDecoder::check_size(std::vector<Event>& events) {
  if (!done_ && parser_.too_large()) fail_malformed(too_large_event(parser_.limits().max_event_bytes), {}, events);
}

void SseDecoder::take(const SseEvent& event, std::vector<Event>& events) {
  ++event_index_;
  take_event(event, events);
}

void SseDecoder::take_event(const SseEvent& event, std::vector<Event>& events) {
  if (event.data.empty() || event.data == "[DONE]") return;
  if (!include_raw_chunks_ && take_common(event.data, events)) return;
  const std::optional<Json> chunk = parse_event_json(event.data, pieces_);
  if (!chunk || !chunk->is_object()) {
    return fail_malformed("an event is not a JSON object" + std::string(too_many_values(event.data)), event.data,
                          events);
  }
  if (include_raw_chunks_) events.emplace_back(RawChunk{without_halves(*chunk)});
  take_chunk(event.event, *chunk, events);
}

void SseDecoder::complete(MessageCompleted message, std::vector<Event>& events) {
  done_ = true;
  events.emplace_back(std::move(message));
}

void SseDecoder::fail(Error error, std::vector<Event>& events) {
  before_error(events);
  done_ = true;
  events.emplace_back(ErrorEvent{std::move(error)});
}

bool SseDecoder::fail_if_text(std::vector<Event>& events) {
  if (has_events() || !is_plain_text(stray())) return false;
  fail(text_response(provider_, stray()), events);
  return true;
}

void SseDecoder::fail_malformed(std::string_view message, std::string_view payload, std::vector<Event>& events) {
  fail(malformed_event(provider_, provider_ + "'s stream is broken: " + std::string(message), payload,
                       event_index_ < 0 ? std::nullopt : std::optional(event_index_)),
       events);
}

}  // namespace allm
