#include "providers/anthropic/stream.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include "data/immortal.hpp"
#include "providers/anthropic/anthropic.hpp"
#include "providers/anthropic/body.hpp"
#include "providers/anthropic/errors.hpp"
#include "providers/anthropic/text_delta.hpp"
#include "providers/provider_errors.hpp"
#include "providers/provider_json.hpp"

namespace allm {
namespace {

constexpr std::array<std::string_view, 3> kPieces = {"delta.text", "delta.partial_json", "delta.thinking"};

const Json& member_or_null(const Json& value, std::string_view key) {
  static const Json& null = immortal<Json>();
  const Json* member = find_member(value, key);
  return member == nullptr ? null : *member;
}

}  // namespace

AnthropicStream::AnthropicStream(AnthropicAnswer answer, HttpResponseHead head, bool include_raw_chunks)
    : SseDecoder(kAnthropic, include_raw_chunks, kPieces), answer_(std::move(answer)), head_(std::move(head)) {}

void AnthropicStream::set_limits(const DecoderLimits& limits) {
  SseDecoder::set_limits(limits);
  answer_.set_limits(limits.answer);
}

void AnthropicStream::complete_answer(std::vector<Event>& events) {
  std::expected<MessageCompleted, std::string> message = answer_.complete(events);
  if (!message) return fail_malformed(message.error(), {}, events);
  complete(*std::move(message), events);
}

bool AnthropicStream::take_common(std::string_view data, std::vector<Event>& events) {
  if (!answer_.started()) return false;
  const std::optional<AnthropicDelta> delta = read_anthropic_delta(data);
  if (!delta) return false;
  const std::string error = answer_.append(delta->index, delta->kind, delta->text, events);
  if (!error.empty()) fail_malformed(error, data, events);
  return true;
}

void AnthropicStream::take_chunk(std::string_view name, const Json& chunk, std::vector<Event>& events) {
  std::string_view type = text_member(chunk, "type");
  if (type.empty()) type = name;
  if (type == "error" || (type.empty() && find_member(chunk, "error") != nullptr)) {
    return fail(anthropic_event_error(head_, chunk), events);
  }
  const bool of_message = type == "message_start" || type == "message_delta" || type == "message_stop";
  const bool of_block = type.starts_with("content_block_");
  if (!of_message && !of_block) return;  // pings, and events of later versions
  if (type == "message_start" || !answer_.started()) answer_.start(member_or_null(chunk, "message"), events);

  const std::int64_t index = integer_member(chunk, "index").value_or(0);
  std::string error;
  if (type == "content_block_start") {
    error = answer_.start_block(index, member_or_null(chunk, "content_block"), events);
  } else if (type == "content_block_delta") {
    error = take_delta(index, member_or_null(chunk, "delta"), events);
  } else if (type == "content_block_stop") {
    error = answer_.stop_block(index, events);
  } else if (type == "message_delta") {
    answer_.note_end(member_or_null(chunk, "delta"), find_member(chunk, "usage"));
  } else if (type == "message_stop") {
    complete_answer(events);
  }
  if (!error.empty()) fail_malformed(error, write_json(chunk).value_or(""), events);
}

std::string AnthropicStream::take_delta(std::int64_t index, const Json& delta, std::vector<Event>& events) {
  const std::string_view type = text_member(delta, "type");
  if (type == "citations_delta") return answer_.add_citation(index, member_or_null(delta, "citation"));
  const AnthropicDeltaForm* form = anthropic_delta_form(type);
  // Unknown kinds of deltas, which later versions may add, are ignored.
  if (form == nullptr) return {};
  return answer_.append(index, form->kind, text_member(delta, form->member), events);
}

void AnthropicStream::end(std::string_view stray, std::vector<Event>& events) {
  if (answer_.has_stop_reason()) return complete_answer(events);
  // A document with the content type of a stream.
  const std::optional<Json> document = answer_.started() ? std::nullopt : parse_provider_json(stray);
  if (document && document->is_object()) {
    std::vector<Event> whole;
    take_anthropic_document(*document, answer_, head_, whole);
    Event last = std::move(whole.back());
    whole.pop_back();
    std::ranges::move(whole, std::back_inserter(events));
    if (auto* error = last.get_if<ErrorEvent>()) return fail(std::move(error->error), events);
    return complete(std::move(*last.get_if<MessageCompleted>()), events);
  }
  if (!fail_if_text(events)) fail(truncated_stream(kAnthropic), events);
}

void AnthropicStream::before_error(std::vector<Event>& events) { answer_.complete_text(events); }

}  // namespace allm
