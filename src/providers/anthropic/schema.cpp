#include "providers/anthropic/schema.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "providers/provider_json.hpp"

namespace allm {
namespace {

constexpr std::array<std::string_view, 10> kFormats = {"date-time", "time", "date", "duration", "email",
                                                       "hostname",  "uri",  "ipv4", "ipv6",     "uuid"};
constexpr std::array<std::string_view, 11> kKept = {
    "type",     "title",   "description",         "enum", "const", "$ref", "required", "format",
    "minItems", "default", "additionalProperties"};
constexpr std::array<std::string_view, 3> kListsOfSchemas = {"anyOf", "allOf", "oneOf"};
constexpr std::array<std::string_view, 3> kMapsOfSchemas = {"properties", "$defs", "definitions"};
// Keywords that mean nothing to the model.
constexpr std::array<std::string_view, 4> kDropped = {"$schema", "$id", "$comment", "$anchor"};
// Deeper levels of a schema are sent unchanged.
constexpr int kMaxDepth = 200;

bool is_one_of(const auto& names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

bool is_object_schema(const Json& schema) {
  const Json* type = find_member(schema, "type");
  if (type == nullptr) return schema.contains("properties");
  return *type == "object" || (type->is_array() && std::ranges::find(*type, Json("object")) != type->end());
}

bool is_accepted(std::string_view keyword, const Json& value) {
  if (keyword == "format") return value.is_string() && is_one_of(kFormats, value.get_ref<const std::string&>());
  if (keyword == "minItems") return value == 0 || value == 1;
  return is_one_of(kKept, keyword);
}

void add_to_description(Json& schema, const std::string& rules) {
  if (rules.empty()) return;
  const std::string_view description = text_member(schema, "description");
  schema["description"] = description.empty() ? "(" + rules + ")" : std::string(description) + " (" + rules + ")";
}

Json adapted(const Json& schema, int depth) {
  if (!schema.is_object() || depth == kMaxDepth) return schema;
  Json result = Json::object();
  std::string rules;
  for (const auto& [keyword, value] : schema.items()) {
    if (is_one_of(kMapsOfSchemas, keyword) && value.is_object()) {
      Json& members = result[keyword] = Json::object();
      for (const auto& [name, member] : value.items()) members[name] = adapted(member, depth + 1);
    } else if (is_one_of(kListsOfSchemas, keyword) && value.is_array()) {
      Json& list = result[keyword == "oneOf" ? "anyOf" : keyword];
      for (const Json& member : value) list.push_back(adapted(member, depth + 1));
    } else if (keyword == "items") {
      result[keyword] = adapted(value, depth + 1);
    } else if (is_accepted(keyword, value)) {
      result[keyword] = value;
    } else if (!is_one_of(kDropped, keyword)) {
      rules +=
          (rules.empty() ? "" : ", ") + keyword + ": " + value.dump(-1, ' ', false, Json::error_handler_t::replace);
    }
  }
  if (is_object_schema(result)) result["additionalProperties"] = false;
  add_to_description(result, rules);
  return result;
}

}  // namespace

Json anthropic_schema(const Json& schema) { return adapted(schema, 0); }

}  // namespace allm
