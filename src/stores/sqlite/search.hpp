// The full-text index of the sessions' messages.
//
// A session has one or more rows in the index. A session that grows gets a row with the new text only; one whose
// earlier messages have changed is indexed again. The number of the row contains the key of the session.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stores/sqlite/connection.hpp"

namespace allm::sqlite {

// Indexes the text of the session with this key. `text` consists of whole lines.
Status index_text(Connection& connection, std::int64_t key, std::string_view text);
Status remove_from_index(Connection& connection, std::int64_t key);

// The words of a query as expressions of FTS5, each different from the others. Punctuation alone is not a word.
std::vector<std::string> search_words(std::string_view text);
// An SQL condition that a session (with the column `key`) has the word that is parameter `index`.
std::string has_word(int index);

}  // namespace allm::sqlite
