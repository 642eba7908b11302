// Text that has to be shown whatever it is.
#pragma once

#include <string>
#include <string_view>

namespace allm {

// The text with every byte that is not part of valid UTF-8 replaced by U+FFFD.
std::string repair_utf8(std::string_view text);

}  // namespace allm
