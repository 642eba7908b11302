// What a store has recorded about a session.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "allm/store.hpp"

namespace allm::kill_matrix {

struct Records {
  StoredSession stored = {};
  std::map<std::string, int> responses = {};   // by the text of the message
  std::map<std::string, int> dispatched = {};  // by the id of the call, as the next two
  std::map<std::string, int> finished = {};
  std::map<std::string, int> allowed = {};  // decisions of a person
};

// Fails as the store does, and if the log cannot be understood.
Result<Records> read_records(SessionStore& store, const std::string& id);

}  // namespace allm::kill_matrix
