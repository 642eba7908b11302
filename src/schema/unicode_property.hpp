// Names of Unicode properties in `\p{…}`: from ECMA-262's to RE2's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace allm::schema_detail {

// The inside of RE2's braces for the inside of ECMA-262's: "Letter", "gc=Letter" and "L" are "L", "Script=Greek" is
// "Greek". Nothing for a property that RE2 does not know.
std::optional<std::string> re2_property(std::string_view ecma);

}  // namespace allm::schema_detail
