#include "http/exchange.hpp"

#include <algorithm>

namespace allm {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_name(std::string_view a, std::string_view b) { return std::ranges::equal(a, b, {}, lower, lower); }

}  // namespace

const std::string* find_header(const HttpHeaders& headers, std::string_view name) {
  const auto found =
      std::ranges::find_if(headers, [&](const HttpHeader& header) { return same_name(header.name, name); });
  return found == headers.end() ? nullptr : &found->value;
}

}  // namespace allm
