#include "schema/keywords.hpp"

#include <algorithm>
#include <array>

namespace allm::schema_detail {
namespace {

enum class In : std::uint8_t { both, draft7, draft2020_12 };

struct Row {
  KeywordInfo info;
  In in = In::both;
};

constexpr std::array kRows = {
    Row{{"$anchor", Keyword::anchor, Shape::plain}, In::draft2020_12},
    Row{{"$defs", Keyword::definitions, Shape::schema_map}},
    Row{{"$dynamicAnchor", Keyword::dynamic_anchor, Shape::plain}, In::draft2020_12},
    Row{{"$dynamicRef", Keyword::dynamic_ref, Shape::plain}, In::draft2020_12},
    Row{{"$id", Keyword::id, Shape::plain}},
    Row{{"$ref", Keyword::ref, Shape::plain}},
    Row{{"$schema", Keyword::schema, Shape::plain}},
    Row{{"additionalItems", Keyword::additional_items, Shape::schema}, In::draft7},
    Row{{"additionalProperties", Keyword::additional_properties, Shape::schema}},
    Row{{"allOf", Keyword::all_of, Shape::schema_list}},
    Row{{"anyOf", Keyword::any_of, Shape::schema_list}},
    Row{{"const", Keyword::constant, Shape::plain}},
    Row{{"contains", Keyword::contains, Shape::schema}},
    Row{{"definitions", Keyword::definitions, Shape::schema_map}},
    Row{{"dependencies", Keyword::dependencies, Shape::schema_map}},
    Row{{"dependentRequired", Keyword::dependent_required, Shape::plain}, In::draft2020_12},
    Row{{"dependentSchemas", Keyword::dependent_schemas, Shape::schema_map}, In::draft2020_12},
    Row{{"else", Keyword::alternative, Shape::schema}},
    Row{{"enum", Keyword::enumeration, Shape::plain}},
    Row{{"exclusiveMaximum", Keyword::exclusive_maximum, Shape::plain}},
    Row{{"exclusiveMinimum", Keyword::exclusive_minimum, Shape::plain}},
    Row{{"if", Keyword::condition, Shape::schema}},
    Row{{"items", Keyword::items, Shape::schema_or_list}, In::draft7},
    Row{{"items", Keyword::items, Shape::schema}, In::draft2020_12},
    Row{{"maxContains", Keyword::max_contains, Shape::plain}, In::draft2020_12},
    Row{{"maxItems", Keyword::max_items, Shape::plain}},
    Row{{"maxLength", Keyword::max_length, Shape::plain}},
    Row{{"maxProperties", Keyword::max_properties, Shape::plain}},
    Row{{"maximum", Keyword::maximum, Shape::plain}},
    Row{{"minContains", Keyword::min_contains, Shape::plain}, In::draft2020_12},
    Row{{"minItems", Keyword::min_items, Shape::plain}},
    Row{{"minLength", Keyword::min_length, Shape::plain}},
    Row{{"minProperties", Keyword::min_properties, Shape::plain}},
    Row{{"minimum", Keyword::minimum, Shape::plain}},
    Row{{"multipleOf", Keyword::multiple_of, Shape::plain}},
    Row{{"not", Keyword::negation, Shape::schema}},
    Row{{"oneOf", Keyword::one_of, Shape::schema_list}},
    Row{{"pattern", Keyword::pattern, Shape::plain}},
    Row{{"patternProperties", Keyword::pattern_properties, Shape::schema_map}},
    Row{{"prefixItems", Keyword::prefix_items, Shape::schema_list}, In::draft2020_12},
    Row{{"properties", Keyword::properties, Shape::schema_map}},
    Row{{"propertyNames", Keyword::property_names, Shape::schema}},
    Row{{"required", Keyword::required, Shape::plain}},
    Row{{"then", Keyword::consequence, Shape::schema}},
    Row{{"type", Keyword::type, Shape::plain}},
    Row{{"unevaluatedItems", Keyword::unevaluated_items, Shape::schema}, In::draft2020_12},
    Row{{"unevaluatedProperties", Keyword::unevaluated_properties, Shape::schema}, In::draft2020_12},
    Row{{"uniqueItems", Keyword::unique_items, Shape::plain}},
};

constexpr auto kByName = [](const Row& row) { return row.info.name; };
static_assert(std::ranges::is_sorted(kRows, {}, kByName));

}  // namespace

const KeywordInfo* find_keyword(std::string_view name, Dialect dialect) {
  const In wanted = dialect == Dialect::draft7 ? In::draft7 : In::draft2020_12;
  for (const Row& row : std::ranges::equal_range(kRows, name, {}, kByName)) {
    if (row.in == In::both || row.in == wanted) return &row.info;
  }
  return nullptr;
}

}  // namespace allm::schema_detail
