// What PostgreSQL accepts as the id of a session, and the errors of functions that return an outcome.
#pragma once

#include <string>
#include <string_view>

#include "data/utf8.hpp"
#include "stores/store_errors.hpp"

namespace allm::postgres {

// PostgreSQL has no text with a NUL, and keys of an index and notifications have a maximum size.
inline bool is_text(std::string_view text) { return text.find('\0') == std::string_view::npos && is_utf8(text); }
inline bool is_session_id(std::string_view id) { return id.size() <= 1'000 && is_text(id); }

// The error for an outcome of the functions in the schema, except "done" and "conflict".
inline Error outcome_error(std::string_view outcome, const std::string& id) {
  if (outcome == "leased") return session_leased(id);
  if (outcome == "fenced") return lease_fenced(id);
  return no_such_session(id);
}

}  // namespace allm::postgres
