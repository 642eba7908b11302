#include "stores/sqlite/search.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace allm::sqlite {
namespace {

// The rows of a session in the index: key << 20, (key << 20) + 1, …
constexpr int kPartBits = 20;
constexpr std::int64_t kMaxParts = std::int64_t{1} << kPartBits;

// FNV-1a. A collision of two texts would only leave words of replaced messages in the index.
std::int64_t hash_of(std::string_view text) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211U;
  return static_cast<std::int64_t>(hash);
}

struct IndexedText {
  std::int64_t parts = 0;
  std::int64_t bytes = 0;
  std::int64_t hash = 0;
};

Result<IndexedText> indexed_text(Connection& connection, std::int64_t key) {
  Statement query =
      connection.run("SELECT indexed_parts, indexed_bytes, indexed_hash FROM sessions WHERE key = ?", key);
  const Result<bool> row = query.step();
  if (!row) return std::unexpected(row.error());
  return IndexedText{.parts = query.integer(0), .bytes = query.integer(1), .hash = query.integer(2)};
}

bool continues(std::string_view text, const IndexedText& indexed) {
  if (indexed.parts < 0 || indexed.parts >= kMaxParts || indexed.bytes < 0) return false;
  const auto bytes = static_cast<std::size_t>(indexed.bytes);
  return text.size() >= bytes && hash_of(text.substr(0, bytes)) == indexed.hash;
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r') || c == '\0'; }

bool has_letter(std::string_view word) {
  return std::ranges::any_of(word, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

// In quotes nothing has a meaning in the language of FTS5, except a quote.
std::string quoted(std::string_view word) {
  std::string text = "\"";
  for (const char c : word) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + '"';
}

}  // namespace

Status index_text(Connection& connection, std::int64_t key, std::string_view text) {
  Result<IndexedText> indexed = indexed_text(connection, key);
  if (!indexed) return std::unexpected(indexed.error());
  if ((indexed->parts != 0 || indexed->bytes != 0) && !continues(text, *indexed)) {
    if (Status removed = remove_from_index(connection, key); !removed) return removed;
    indexed = IndexedText{};
  }
  const std::string_view added = text.substr(static_cast<std::size_t>(indexed->bytes));
  if (added.empty()) return {};
  const std::int64_t row = (key << kPartBits) + indexed->parts;
  if (Status done = connection.execute("INSERT INTO session_search (rowid, text) VALUES (?, ?)", row, added); !done) {
    return done;
  }
  return connection.execute("UPDATE sessions SET indexed_parts = ?, indexed_bytes = ?, indexed_hash = ? WHERE key = ?",
                            indexed->parts + 1, static_cast<std::int64_t>(text.size()), hash_of(text), key);
}

Status remove_from_index(Connection& connection, std::int64_t key) {
  const std::int64_t first = key << kPartBits;
  if (Status done =
          connection.execute("DELETE FROM session_search WHERE rowid BETWEEN ? AND ?", first, first + kMaxParts - 1);
      !done) {
    return done;
  }
  return connection.execute("UPDATE sessions SET indexed_parts = 0, indexed_bytes = 0, indexed_hash = 0 WHERE key = ?",
                            key);
}

std::vector<std::string> search_words(std::string_view text) {
  std::vector<std::string> words;
  for (auto begin = text.begin(); begin != text.end();) {
    begin = std::find_if_not(begin, text.end(), is_space);
    const auto end = std::find_if(begin, text.end(), is_space);
    if (const std::string_view word(begin, end); has_letter(word)) words.push_back(quoted(word));
    begin = end;
  }
  std::ranges::sort(words);
  const auto repeated = std::ranges::unique(words);
  words.erase(repeated.begin(), repeated.end());
  return words;
}

std::string has_word(int index) {
  return fmt::format("key IN (SELECT rowid >> {} FROM session_search WHERE session_search MATCH ?{})", kPartBits,
                     index);
}

}  // namespace allm::sqlite
