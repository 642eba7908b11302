// The keywords that assert, apply or identify something, and where schemas are found below them.
#pragma once

#include <cstdint>
#include <string_view>

#include "allm/schema.hpp"

namespace allm::schema_detail {

using Dialect = SchemaOptions::Dialect;

enum class Keyword : std::uint8_t {
  additional_items,
  additional_properties,
  all_of,
  anchor,
  any_of,
  constant,
  contains,
  definitions,
  dependencies,
  dependent_required,
  dependent_schemas,
  dynamic_anchor,
  dynamic_ref,
  enumeration,
  exclusive_maximum,
  exclusive_minimum,
  id,
  condition,
  alternative,
  consequence,
  items,
  max_contains,
  max_items,
  max_length,
  max_properties,
  maximum,
  min_contains,
  min_items,
  min_length,
  min_properties,
  minimum,
  multiple_of,
  negation,
  one_of,
  pattern,
  pattern_properties,
  prefix_items,
  properties,
  property_names,
  ref,
  required,
  schema,
  type,
  unevaluated_items,
  unevaluated_properties,
  unique_items,
};

// What a keyword's value holds.
enum class Shape : std::uint8_t {
  plain,           // no schemas
  schema,          // a schema
  schema_list,     // an array of schemas
  schema_or_list,  // a schema or an array of schemas
  schema_map,      // an object of schemas, possibly among other values
};

struct KeywordInfo {
  std::string_view name;
  Keyword keyword;
  Shape shape;
};

// The keyword of that name in a dialect, which must not be `auto_detect`; null when it means nothing there.
const KeywordInfo* find_keyword(std::string_view name, Dialect dialect);

}  // namespace allm::schema_detail
