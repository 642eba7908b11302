#include "providers/gemini/body.hpp"

#include <optional>
#include <utility>

#include "providers/gemini/errors.hpp"
#include "providers/gemini/gemini.hpp"
#include "providers/provider_errors.hpp"
#include "providers/provider_json.hpp"

namespace allm {

void take_gemini_responses(const Json& document, GeminiAnswer& answer, std::vector<Event>& events) {
  if (document.is_object()) return answer.take(document, events);
  if (!document.is_array()) return;
  for (const Json& response : document) {
    if (response.is_object()) answer.take(response, events);
  }
}

GeminiBody::GeminiBody(GeminiAnswer answer, bool include_raw_chunks)
    : WholeDecoder(kGemini, include_raw_chunks), answer_(std::move(answer)) {}

void GeminiBody::set_limits(const DecoderLimits& limits) {
  WholeDecoder::set_limits(limits);
  answer_.set_limits(limits.answer);
}

void GeminiBody::take_document(const Json& document, std::vector<Event>& events) {
  const std::size_t count = document.is_array() ? document.size() : 1;
  for (std::size_t i = 0; i < count; ++i) {
    const Json& response = document.is_array() ? document[i] : document;
    if (include_raw_chunks()) events.emplace_back(RawChunk{response});
    if (find_member(response, "error") != nullptr) {
      events.emplace_back(ErrorEvent{gemini_event_error(response)});
      return;
    }
    const bool says_something = find_member(response, "candidates") != nullptr ||
                                find_member(response, "promptFeedback") != nullptr ||
                                find_member(response, "usageMetadata") != nullptr;
    if (says_something) answer_.take(response, events);
    if (answer_.is_too_large()) {
      events.emplace_back(
          ErrorEvent{malformed_response(kGemini, "gemini's answer cannot be read: " + answer_.error(), {})});
      return;
    }
  }
  if (answer_.is_blocked()) {
    MessageCompleted blocked = answer_.complete_blocked(true, events);
    events.emplace_back(std::move(blocked));
    return;
  }
  if (!answer_.has_candidate()) {
    events.emplace_back(ErrorEvent{
        malformed_response(kGemini, "gemini's response has no candidates", write_json(document).value_or(""))});
    return;
  }
  if (document.is_array() && !answer_.has_finish()) {
    events.emplace_back(ErrorEvent{truncated_stream(kGemini)});
    return;
  }
  MessageCompleted message = answer_.complete(events).value_or(MessageCompleted{});
  events.emplace_back(std::move(message));
}

}  // namespace allm
