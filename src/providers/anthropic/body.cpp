#include "providers/anthropic/body.hpp"

#include <utility>

#include "providers/anthropic/anthropic.hpp"
#include "providers/anthropic/errors.hpp"
#include "providers/provider_errors.hpp"
#include "providers/provider_json.hpp"

namespace allm {
namespace {

// Returns an error message, or "" if the document is valid.
std::string take_content(const Json& document, AnthropicAnswer& answer, std::vector<Event>& events) {
  const Json* content = find_member(document, "content");
  if (content == nullptr || !content->is_array()) return "it has no content";
  answer.start(document, events);
  std::int64_t index = 0;
  for (const Json& block : *content) {
    std::string error = answer.start_block(index, block, events);
    const Json* input = find_member(block, "input");
    if (error.empty() && input != nullptr && text_member(block, "type") == "tool_use") {
      error = answer.append(index, AnthropicAnswer::Delta::input_json, write_json(*input).value_or(""), events);
    }
    if (error.empty()) error = answer.stop_block(index++, events);
    if (!error.empty()) return error;
  }
  answer.note_end(document, nullptr);
  return {};
}

}  // namespace

void take_anthropic_document(const Json& document, AnthropicAnswer& answer, const HttpResponseHead& head,
                             std::vector<Event>& events) {
  if (text_member(document, "type") == "error" || find_member(document, "error") != nullptr) {
    events.emplace_back(ErrorEvent{anthropic_event_error(head, document)});
    return;
  }
  if (const std::string error = take_content(document, answer, events); !error.empty()) {
    events.emplace_back(
        ErrorEvent{malformed_response(kAnthropic, "anthropic's response is not a message: " + std::string(error),
                                      write_json(document).value_or(""))});
    return;
  }
  std::expected<MessageCompleted, std::string> message = answer.complete(events);
  if (message) {
    events.emplace_back(*std::move(message));
  } else {
    events.emplace_back(ErrorEvent{
        malformed_response(kAnthropic, "anthropic's answer cannot be read: " + std::move(message).error(), {})});
  }
}

AnthropicBody::AnthropicBody(AnthropicAnswer answer, HttpResponseHead head, bool include_raw_chunks)
    : WholeDecoder(kAnthropic, include_raw_chunks), answer_(std::move(answer)), head_(std::move(head)) {}

void AnthropicBody::set_limits(const DecoderLimits& limits) {
  WholeDecoder::set_limits(limits);
  answer_.set_limits(limits.answer);
}

void AnthropicBody::take_document(const Json& document, std::vector<Event>& events) {
  if (include_raw_chunks()) events.emplace_back(RawChunk{document});
  take_anthropic_document(document, answer_, head_, events);
}

}  // namespace allm
