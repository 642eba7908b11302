// Regular expressions of ECMA-262 (with the `u` flag), written in the syntax of RE2.
//
// What differs in meaning (`.`, `\s`, `[]`), in spelling (`\uXXXX`, `\cX`, `\p{Letter}`, `(?<name>…)`) or in limits
// (`x{2000}`) is rewritten. What RE2 cannot match at all is refused by name: lookaround, backreferences, and Unicode
// properties other than categories and scripts. Groups become non-capturing, as a schema only asks whether there is a
// match.
#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace allm::schema_detail {

// The RE2 pattern, or an error message. RE2 finds the remaining syntax errors.
std::expected<std::string, std::string> ecma_to_re2(std::string_view pattern);

}  // namespace allm::schema_detail
