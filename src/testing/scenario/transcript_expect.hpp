// What a transcript expects, compared with what came of it. Each function appends what does not match, one line each.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "allm/event.hpp"
#include "allm/json.hpp"
#include "allm/response.hpp"

namespace allm {

using Mismatches = std::vector<std::string>;

void expect_equal(const std::string& what, const Json& expected, const Json& got, Mismatches& mismatches);

// Ids that the adapter makes stand in a transcript as <…>: each must be new, and the same wherever it comes again.
class MadeIds {
 public:
  // Puts the id in the place of its name.
  void compare(Json& expected, const Json& got, const std::string& what, Mismatches& mismatches);

 private:
  std::map<std::string, std::string> ids_;
};

// `expect` is the list of events; raw chunks count on neither side.
void check_events(const Json& expect, const std::vector<Event>& events, MadeIds& ids, Mismatches& mismatches);
void check_error(const Json& expect, const Error& error, Mismatches& mismatches);
// `expect` is the whole of what is expected; its `events` are not looked at.
void check_response(const Json& expect, const Response& response, MadeIds& ids, Mismatches& mismatches);

}  // namespace allm
