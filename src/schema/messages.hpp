// The wording of errors.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "allm/json.hpp"

#include "schema/node.hpp"

namespace allm::schema_detail {

Type type_of(const Json& instance);
std::string_view type_name(const Json& instance);
// "string", "string or null", "string, array or null"
std::string type_names(TypeSet types);

// Text as part of a message: cut between characters to a readable length.
std::string clipped(std::string_view text, std::size_t max_bytes = 80);
// A property's name in quotes.
std::string in_quotes(std::string_view name);
// A value as JSON, or what kind of value it is if it is long.
std::string preview(const Json& value);
// The values of an enumeration: `one of "a", "b"`.
std::string choices(const ValueSet& values);
// "1 item", "2 items"
std::string plural(std::size_t count, std::string_view singular, std::string_view plural);

}  // namespace allm::schema_detail
