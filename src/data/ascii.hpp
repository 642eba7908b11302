// Letters, digits and spaces of ASCII, whatever the locale. Pure functions, safe to call from any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace allm {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

constexpr char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

inline std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = to_lower(c);
  return result;
}

// `text` without the characters of `spaces` at its beginning and end.
constexpr std::string_view trimmed(std::string_view text, std::string_view spaces = " \t\r\n") {
  const std::size_t begin = text.find_first_not_of(spaces);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(spaces) - begin + 1);
}

}  // namespace allm
