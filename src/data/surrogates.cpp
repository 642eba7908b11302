#include "data/surrogates.hpp"

#include <charconv>
#include <system_error>

namespace allm {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr std::size_t kEscapeBytes = 6;                    // \ud83d

// The code of an escape of four digits at the front; 0 for anything else.
char16_t escaped_code(std::string_view text) {
  if (text.size() < kEscapeBytes || !text.starts_with("\\u")) return 0;
  unsigned code = 0;
  const char* begin = text.data() + 2;
  const char* end = text.data() + kEscapeBytes;
  const auto [at, error] = std::from_chars(begin, end, code, 16);
  return error == std::errc() && at == end ? static_cast<char16_t>(code) : char16_t{0};
}

bool is_high(char16_t code) { return code >= 0xD800 && code <= 0xDBFF; }
bool is_low(char16_t code) { return code >= 0xDC00 && code <= 0xDFFF; }

char16_t half_at(std::string_view bytes) {
  const auto second = static_cast<unsigned char>(bytes[1]);
  const auto third = static_cast<unsigned char>(bytes[2]);
  return static_cast<char16_t>(0xD000U | ((second & 0x3FU) << 6U) | (third & 0x3FU));
}

void append_pair(std::string& text, char16_t high, char16_t low) {
  const std::uint32_t code = 0x10000U + ((high - 0xD800U) << 10U) + (low - 0xDC00U);
  for (const std::uint32_t byte : {0xF0U | (code >> 18U), 0x80U | ((code >> 12U) & 0x3FU),
                                   0x80U | ((code >> 6U) & 0x3FU), 0x80U | (code & 0x3FU)}) {
    text += static_cast<char>(byte);
  }
}

// Mends the string whose contents begin at `at`; returns the place after its closing quote.
std::size_t mend_string(std::size_t at, MendedJson& json, bool& mended) {
  const std::size_t begin = at;
  const std::string_view text = json.text;
  while (at < text.size() && text[at] != '"') {
    const char16_t code = text[at] == '\\' ? escaped_code(text.substr(at)) : char16_t{0};
    if (!is_high(code) && !is_low(code)) {
      at += text[at] == '\\' ? 2 : 1;
      continue;
    }
    const std::size_t next = at + kEscapeBytes;
    if (is_high(code) && next < text.size() && is_low(escaped_code(text.substr(next)))) {
      at = next + kEscapeBytes;
      continue;
    }
    const bool is_split = is_high(code) ? next < text.size() && text[next] == '"' : at == begin;
    if (is_split) json.halves.push_back({.string = json.strings, .half = code});
    json.text.replace(at, kEscapeBytes, "\\ufffd");
    mended = true;
    at = next;
  }
  return at + 1;
}

}  // namespace

std::optional<MendedJson> mend_surrogates(std::string_view json) {
  MendedJson result{.text = std::string(json)};
  bool mended = false;
  std::size_t at = result.text.find('"');
  while (at < result.text.size()) {
    at = mend_string(at + 1, result, mended);
    ++result.strings;
    at = at < result.text.size() ? result.text.find('"', at) : std::string::npos;
  }
  if (!mended) return std::nullopt;
  return result;
}

std::string half_bytes(char16_t half) {
  return {'\xED', static_cast<char>(0x80U | ((half >> 6U) & 0x3FU)), static_cast<char>(0x80U | (half & 0x3FU))};
}

std::string without_halves(std::string_view text) {
  std::string whole(text);
  if (begins_with_low_half(whole)) whole.replace(0, kHalfBytes, kReplacement);
  if (ends_with_high_half(whole)) whole.replace(whole.size() - kHalfBytes, kHalfBytes, kReplacement);
  return whole;
}

std::string_view SurrogateJoiner::join(std::string_view piece) {
  joined_.clear();
  const bool has_low = begins_with_low_half(piece);
  if (high_ != 0 && has_low) {
    append_pair(joined_, high_, half_at(piece));
  } else if (high_ != 0 || has_low) {
    joined_ += kReplacement;
  }
  high_ = 0;
  if (has_low) piece.remove_prefix(kHalfBytes);
  if (ends_with_high_half(piece)) {
    high_ = half_at(piece.substr(piece.size() - kHalfBytes));
    piece.remove_suffix(kHalfBytes);
  }
  joined_ += piece;
  return joined_;
}

std::string_view SurrogateJoiner::end() {
  if (high_ == 0) return {};
  high_ = 0;
  return kReplacement;
}

}  // namespace allm
