// Whether text is UTF-8. Safe to call from any thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace allm {

namespace detail {
bool is_utf8_general(std::string_view text);
}

// Most texts are short and ASCII, and are checked in every step: they are checked inline.
inline bool is_utf8(std::string_view text) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080U;
  const char* at = text.data();
  std::size_t left = text.size();
  if (left > 64) return detail::is_utf8_general(text);
  std::uint64_t seen = 0;
  for (; left >= 8; left -= 8, at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    seen |= word;
  }
  for (; left > 0; --left, ++at) seen |= static_cast<unsigned char>(*at);
  return (seen & kHighBits) == 0 || detail::is_utf8_general(text);
}

}  // namespace allm
