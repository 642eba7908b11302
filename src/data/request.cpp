#include "allm/request.hpp"

#include <utility>

namespace allm {

namespace {

bool has_string(const Json& object, const char* key) {
  const auto member = object.find(key);
  return member != object.end() && member->is_string();
}

bool is_schema_format(const Json& object) {
  if (object.size() != 4 || !has_string(object, "name")) return false;
  const auto schema = object.find("schema");
  const auto strict = object.find("strict");
  return schema != object.end() && schema->is_object() && strict != object.end() && strict->is_boolean();
}

ResponseFormat::Kind kind_of_object(const Json& object) {
  if (has_string(object, "type")) {
    const Json& type = object["type"];
    if (type == "json_object" && object.size() == 1) return ResponseFormat::Kind::json_object;
    if (type == "json_schema" && is_schema_format(object)) return ResponseFormat::Kind::json_schema;
  }
  return ResponseFormat::Kind::provider;
}

}  // namespace

ResponseFormat ResponseFormat::text() { return {Kind::text, "text"}; }
ResponseFormat ResponseFormat::json_object() { return {Kind::json_object, {{"type", "json_object"}}}; }

ResponseFormat ResponseFormat::json_schema(std::string name, Json schema, bool strict) {
  return {Kind::json_schema,
          {{"type", "json_schema"}, {"name", std::move(name)}, {"schema", std::move(schema)}, {"strict", strict}}};
}

ResponseFormat ResponseFormat::from_json(Json value) {
  Kind kind = Kind::invalid;
  if (value.is_object()) {
    kind = kind_of_object(value);
  } else if (value == "text") {
    kind = Kind::text;
  }
  return {kind, std::move(value)};
}

ToolChoice ToolChoice::automatic() { return {Kind::automatic, "auto"}; }
ToolChoice ToolChoice::none() { return {Kind::none, "none"}; }
ToolChoice ToolChoice::required() { return {Kind::required, "required"}; }
ToolChoice ToolChoice::tool(std::string name) { return {Kind::tool, std::move(name)}; }

ToolChoice ToolChoice::from_json(Json value) {
  if (!value.is_string()) return {Kind::provider, std::move(value)};
  const auto& word = value.get_ref<const std::string&>();
  Kind kind = Kind::tool;
  if (word == "auto") kind = Kind::automatic;
  if (word == "none") kind = Kind::none;
  if (word == "required") kind = Kind::required;
  return {kind, std::move(value)};
}

ResponseFormat::ResponseFormat(Kind kind, Json value) : kind_(kind), value_(std::move(value)) {}
ToolChoice::ToolChoice(Kind kind, Json value) : kind_(kind), value_(std::move(value)) {}

}  // namespace allm
