// Whether text is UTF-8. Safe to call from any thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace allm {

namespace detail {
bool is_utf8_general(std::string_view text);

template <class Word>
Word load(const char* at) {
  Word word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}
}  // namespace detail

// Most texts are short and ASCII, and are checked in every step: they are checked inline.
inline bool is_utf8(std::string_view text) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080U;
  const std::size_t size = text.size();
  if (size > 64) return detail::is_utf8_general(text);
  std::uint64_t seen = 0;
  if (size >= 8) {
    for (std::size_t at = 0; at + 8 < size; at += 8) seen |= detail::load<std::uint64_t>(text.data() + at);
    seen |= detail::load<std::uint64_t>(text.data() + size - 8);
  } else if (size >= 4) {
    seen = detail::load<std::uint32_t>(text.data()) | detail::load<std::uint32_t>(text.data() + size - 4);
  } else {
    for (const char c : text) seen |= static_cast<unsigned char>(c);
  }
  return (seen & kHighBits) == 0 || detail::is_utf8_general(text);
}

}  // namespace allm
