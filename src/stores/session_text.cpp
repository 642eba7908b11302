#include "stores/session_text.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace allm {
namespace {

constexpr std::size_t kMaxTitleCharacters = 80;

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }

std::string first_characters(std::string_view text, std::size_t count) {
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    if (begins_character(text[end]) && count-- == 0) break;
  }
  return std::string(text.substr(0, end));
}

std::string first_line(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(begin);
  text = text.substr(0, text.find_first_of("\r\n"));
  return first_characters(text.substr(0, text.find_last_not_of(kSpaces) + 1), kMaxTitleCharacters);
}

char lower(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter; }

bool contains_word(std::string_view text, std::string_view word) {
  return !std::ranges::search(text, word, {}, lower, lower).empty();
}

}  // namespace

std::string title_of(const Session& session) {
  for (const Message& message : session.thread.messages) {
    if (message.role != Role::user) continue;
    if (std::string line = first_line(message.text()); !line.empty()) return line;
  }
  return {};
}

std::string searchable_text(const Session& session) {
  std::string text;
  for (const Message& message : session.thread.messages) {
    if (message.role == Role::system) continue;
    text += message.text();
    text += '\n';
  }
  return text;
}

bool contains_words(std::string_view text, std::string_view query) {
  while (true) {
    const std::size_t begin = query.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) return true;
    query.remove_prefix(begin);
    const std::string_view word = query.substr(0, query.find_first_of(" \t\r\n"));
    if (!contains_word(text, word)) return false;
    query.remove_prefix(word.size());
  }
}

SessionSummary summary_of(const StoredSession& stored) {
  return {.id = stored.session.id.value_or(""),
          .title = title_of(stored.session),
          .status = stored.session.status,
          .tenant = stored.tenant,
          .version = stored.version,
          .messages = stored.session.thread.messages.size(),
          .created_at = stored.created_at,
          .updated_at = stored.updated_at};
}

}  // namespace allm
