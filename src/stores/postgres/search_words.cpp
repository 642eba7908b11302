#include "stores/postgres/search_words.hpp"

#include <cstddef>
#include <unordered_set>

namespace allm::postgres {
namespace {

constexpr std::size_t kMostBytes = 200'000;

// Bytes of characters outside of ASCII count as letters.
bool is_word_byte(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || static_cast<unsigned char>(byte) >= 0x80U;
}

char lower_case(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter; }

}  // namespace

std::string search_words(std::string_view text) {
  std::unordered_set<std::string> seen;
  std::string words;
  std::string word;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char byte = i < text.size() ? lower_case(text[i]) : ' ';
    if (is_word_byte(byte)) {
      word += byte;
      continue;
    }
    if (words.size() + word.size() > kMostBytes) break;
    if (!word.empty() && seen.insert(word).second) words += word + ' ';
    word.clear();
  }
  return words;
}

}  // namespace allm::postgres
