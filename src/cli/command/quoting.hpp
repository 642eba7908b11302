// Texts in shell scripts.
#pragma once

#include <string>
#include <string_view>

namespace allm::cli {

// The text in single quotes, which bash and zsh take literally.
inline std::string single_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') {
      result += R"('\'')";
    } else {
      result += c;
    }
  }
  return result + "'";
}

}  // namespace allm::cli
