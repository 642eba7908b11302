// What the table of sessions has of a session, apart from its id.
#pragma once

#include <cstdint>
#include <string>

#include "stores/postgres/connection.hpp"

namespace allm::postgres {

struct SessionColumns {
  std::string body;  // the session as JSON
  std::string status;
  std::string title;
  std::int64_t messages = 0;
  std::string words;  // for the full-text index

  // Adds the five columns in this order. The arguments refer to this object.
  void add_to(Arguments& arguments) const;
};

// Fails as to_json does.
Result<SessionColumns> columns_of(const Session& session);

}  // namespace allm::postgres
