#include "data/utf8.hpp"

#include <simdjson.h>

namespace allm::detail {

bool is_utf8_general(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

}  // namespace allm::detail
