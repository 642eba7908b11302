#include "providers/whole_decoder.hpp"

#include <optional>

#include "providers/provider_errors.hpp"
#include "providers/provider_json.hpp"

namespace allm {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

WholeDecoder::WholeDecoder(std::string_view provider, bool include_raw_chunks)
    : provider_(provider), include_raw_chunks_(include_raw_chunks) {}

void WholeDecoder::feed(std::string_view bytes, std::vector<Event>& events) {
  if (done_) return;
  if (bytes.size() > max_body_bytes_ - body_.size()) {
    body_ = {};
    return fail("cannot be read: " + too_large_body(max_body_bytes_), {}, events);
  }
  body_ += bytes;
}

void WholeDecoder::finish(std::vector<Event>& events) {
  if (done_) return;
  std::string_view text = body_;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const std::optional<Json> document = parse_provider_json(text);
  if (!document && is_plain_text(text)) {
    done_ = true;
    events.emplace_back(ErrorEvent{text_response(provider_, text)});
    return;
  }
  if (!document || !document->is_structured()) {
    return fail("is not a JSON object or array" + std::string(too_many_values(body_)), body_, events);
  }
  done_ = true;
  take_document(*document, events);
}

void WholeDecoder::fail(std::string_view message, std::string_view payload, std::vector<Event>& events) {
  done_ = true;
  events.emplace_back(
      ErrorEvent{malformed_response(provider_, provider_ + "'s response " + std::string(message), payload)});
}

}  // namespace allm
