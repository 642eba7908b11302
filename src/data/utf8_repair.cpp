#include "data/utf8_repair.hpp"

#include <algorithm>
#include <cstddef>

#include "data/utf8.hpp"

namespace allm {
namespace {

// Bytes of the sequence that a first byte announces; 0 if it announces none.
std::size_t announced_length(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return 2;
  if (first >= 0xE0 && first <= 0xEF) return 3;
  if (first >= 0xF0 && first <= 0xF4) return 4;
  return 0;
}

}  // namespace

std::string repair_utf8(std::string_view text) {
  if (is_utf8(text)) return std::string(text);
  std::string repaired;
  repaired.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = announced_length(static_cast<unsigned char>(text.front()));
    const std::string_view sequence = text.substr(0, std::max<std::size_t>(length, 1));
    if (length > 0 && sequence.size() == length && is_utf8(sequence)) {
      repaired += sequence;
      text.remove_prefix(length);
    } else {
      repaired += "\xEF\xBF\xBD";
      text.remove_prefix(1);
    }
  }
  return repaired;
}

std::size_t incomplete_utf8_tail(std::string_view text) {
  constexpr std::size_t kLongest = 3;
  for (std::size_t size = 1; size <= std::min(kLongest, text.size()); ++size) {
    const auto byte = static_cast<unsigned char>(text[text.size() - size]);
    const bool continues = byte >= 0x80 && byte <= 0xBF;
    if (!continues) return announced_length(byte) > size ? size : 0;
  }
  return 0;
}

}  // namespace allm
