// Repairs text that is not valid UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace allm {

// The text with every byte that is not part of valid UTF-8 replaced by U+FFFD.
std::string repair_utf8(std::string_view text);

// Bytes at the end of a text that may be the beginning of a character: 0 to 3.
std::size_t incomplete_utf8_tail(std::string_view text);

}  // namespace allm
