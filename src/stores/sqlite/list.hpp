// Pages of the list of sessions, with filters and full-text search.
#pragma once

#include "allm/store.hpp"

#include "stores/sqlite/connection.hpp"

namespace allm::sqlite {

// Fails with ValidationError `invalid_option` if `after` is not the `next` of a page, or if there are more than 100
// words.
Result<SessionPage> list_sessions(Connection& connection, const SessionQuery& query);

}  // namespace allm::sqlite
