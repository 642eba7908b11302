// Where two requests differ. Pure functions; any thread.
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
  const Json* recorded;  // null if it is not there; part of what was compared
  const Json* now;
};

// The first in the order of `recorded`. Values are compared as by json_equal; what is at or below one of the `ignored`
// pointers is not. Recurses once per level that both values have.
std::optional<Difference> first_difference(const Json& recorded, const Json& now, const Pointers& ignored);

// "recorded "a …", now nothing": both values shortened, and of long texts that begin alike the part that differs.
std::string describe(const Difference& difference);

}  // namespace allm
