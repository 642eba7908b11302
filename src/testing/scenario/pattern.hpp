// Patterns: what an observation must look like. docs/scenario-format.md describes them. Pure
// functions; safe to call from any thread.
#pragma once

#include <string>
#include <vector>

#include "allm/json.hpp"

#include "testing/scenario/problems.hpp"

namespace allm::scenario {

// Reports every special object of `pattern` that is unknown, is mixed with other keys or has an
// operand it cannot have.
void check_pattern(const Json& pattern, const Path& path, Problems& problems);

// Whether `observed` matches. Appends one line per mismatch, starting with `base` and the path below
// it, unless `mismatches` is null. An invalid special object matches nothing.
bool match_pattern(const Json& pattern, const Json& observed, const std::string& base,
                   std::vector<std::string>* mismatches);

// A value on one line for a person, cut to about `limit` bytes.
std::string preview(const Json& value, std::size_t limit = 160);

}  // namespace allm::scenario
