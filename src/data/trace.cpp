#include "allm/trace.hpp"

#include <cstddef>
#include <optional>
#include <span>

namespace allm {
namespace {

constexpr std::size_t kTraceAt = 3;
constexpr std::size_t kSpanAt = 36;
constexpr std::size_t kFlagsAt = 53;
constexpr std::size_t kLength = 55;

void append_hex(std::string& text, std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
}

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10U;
  return std::nullopt;
}

// Reads two digits for each byte; false if one of them is not a lower-case hexadecimal digit.
bool read_hex(std::string_view text, std::span<std::uint8_t> bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto high = hex_digit(text[2 * i]);
    const auto low = hex_digit(text[2 * i + 1]);
    if (!high || !low) return false;
    bytes[i] = static_cast<std::uint8_t>(*high << 4U | *low);
  }
  return true;
}

std::unexpected<Error> invalid_traceparent(const char* problem) {
  return std::unexpected(
      Error(ValidationError{ValidationError::Reason::invalid_option, {{{std::string("traceparent")}, "invalid_value"}}},
            std::string("invalid option: traceparent ") + problem));
}

}  // namespace

std::string to_hex(const TraceId& id) {
  std::string text;
  text.reserve(2 * id.bytes.size());
  append_hex(text, id.bytes);
  return text;
}

std::string to_hex(const SpanId& id) {
  std::string text;
  append_hex(text, id.bytes);
  return text;
}

Result<TraceParent> parse_traceparent(std::string_view text) {
  constexpr const char* kForm = "must have the form 00-<32 digits>-<16 digits>-<2 digits>, in lower-case hexadecimal";
  if (text.size() < kLength || text[2] != '-' || text[kSpanAt - 1] != '-' || text[kFlagsAt - 1] != '-') {
    return invalid_traceparent(kForm);
  }
  TraceParent parent;
  std::uint8_t version = 0;
  std::uint8_t flags = 0;
  if (!read_hex(text, {&version, 1}) || !read_hex(text.substr(kTraceAt), parent.trace_id.bytes) ||
      !read_hex(text.substr(kSpanAt), parent.span_id.bytes) || !read_hex(text.substr(kFlagsAt), {&flags, 1})) {
    return invalid_traceparent(kForm);
  }
  if (version == 0xff) return invalid_traceparent("has version ff, which is not allowed");
  const bool has_more = text.size() > kLength;
  if (has_more && (version == 0 || text[kLength] != '-')) return invalid_traceparent(kForm);
  if (!parent.trace_id.is_set() || !parent.span_id.is_set()) {
    return invalid_traceparent("has an id of zeros, which is not allowed");
  }
  parent.sampled = (flags & 1U) != 0;
  return parent;
}

std::string to_string(const TraceParent& parent) {
  std::string text = "00-";
  text.reserve(kLength);
  append_hex(text, parent.trace_id.bytes);
  text += '-';
  append_hex(text, parent.span_id.bytes);
  text += parent.sampled ? "-01" : "-00";
  return text;
}

}  // namespace allm
