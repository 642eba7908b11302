// Patterns describe what an observation must look like; docs/scenario-format.md defines them. Pure functions; safe to
// call from any thread.
#pragma once

#include <string>
#include <vector>

#include "allm/json.hpp"

#include "testing/scenario/scenario_errors.hpp"

namespace allm::scenario {

// Reports every special object in `pattern` that is unknown, has other keys beside the operator or has an invalid
// operand.
void check_pattern(const Json& pattern, const Path& path, ScenarioErrors& errors);

// Whether `observed` matches. Unless `mismatches` is null, appends one line per mismatch, which begins with `base` and
// the path below it. An invalid special object never matches.
bool match_pattern(const Json& pattern, const Json& observed, const std::string& base,
                   std::vector<std::string>* mismatches);

// The value on one line, for messages; shortened to about `limit` bytes.
std::string preview(const Json& value, std::size_t limit = 160);

}  // namespace allm::scenario
