// What lists and searches show of a session, derived from its messages.
#pragma once

#include <string>

#include "allm/store.hpp"

namespace allm {

// The first line of the first user message that has text, at most 80 characters. Empty if there is none.
std::string title_of(const Session& session);

// The texts of all user and assistant messages and tool results, a line each, for a full-text index.
std::string searchable_text(const Session& session);

// Whether every word of `query` occurs in `text`, in any order and ignoring the case of ASCII letters. For stores
// without an index of their own.
bool contains_words(std::string_view text, std::string_view query);

// The summary of a session as a list shows it.
SessionSummary summary_of(const StoredSession& stored);

}  // namespace allm
