// Compares what a transcript expects with what was decoded. Each function appends one line per mismatch.
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

// Ids that the adapter creates. A transcript has placeholders <…> for them: one placeholder always stands for the same
// id, except <synthesized-unique>, which stands for any id that is not empty.
class MadeIds {
 public:
  // Replaces a placeholder in `expected` by the id in `got`.
  void compare(Json& expected, const Json& got, const std::string& what, Mismatches& mismatches);

 private:
  std::map<std::string, std::string> ids_;
};

// `expect` is the list of events. Raw chunks are ignored on both sides.
void check_events(const Json& expect, const std::vector<Event>& events, MadeIds& ids, Mismatches& mismatches);
void check_error(const Json& expect, const Error& error, Mismatches& mismatches);
// `expect` is the transcript's whole member `expect`; its `events` are ignored.
void check_response(const Json& expect, const Response& response, MadeIds& ids, Mismatches& mismatches);

}  // namespace allm
