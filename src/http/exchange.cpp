#include "http/exchange.hpp"

#include <algorithm>

#include "data/ascii.hpp"

namespace allm {
namespace {

bool same_name(std::string_view a, std::string_view b) { return std::ranges::equal(a, b, {}, to_lower, to_lower); }

}  // namespace

const std::string* find_header(const HttpHeaders& headers, std::string_view name) {
  const auto found =
      std::ranges::find_if(headers, [&](const HttpHeader& header) { return same_name(header.name, name); });
  return found == headers.end() ? nullptr : &found->value;
}

}  // namespace allm
