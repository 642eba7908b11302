// Finds where two requests differ. Pure functions; safe to call from any thread.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "allm/json.hpp"

namespace allm {

using Pointers = std::set<std::string, std::less<>>;

// Whether the text is a JSON pointer (RFC 6901).
bool is_json_pointer(std::string_view text);

struct Difference {
  std::string pointer;
  const Json* recorded;  // null if the value is missing; points into the compared values
  const Json* now;
};

// The first difference in the order of `recorded`; nullopt if there is none. Values are compared as json_equal does.
// Values at or below one of the `ignored` pointers are not compared. Recurses once per level that both values have.
std::optional<Difference> first_difference(const Json& recorded, const Json& now, const Pointers& ignored);

// For example: recorded "a …", now nothing. Both values are shortened. Of long texts with the same beginning, the part
// that differs is shown.
std::string describe(const Difference& difference);

}  // namespace allm
