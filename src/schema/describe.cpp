#include "allm/describe.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "allm/schema.hpp"

namespace allm::detail {

namespace {

// Structs that contain themselves are read by recursion; arguments nest as deep as any JSON we read.
constexpr std::size_t kMaxDepth = ReadLimits().max_depth;

std::string names_of(const auto& fields) {
  std::string names;
  for (const auto& field : fields) names += (names.empty() ? "" : ", ") + field.info.name;
  return names;
}

}  // namespace

struct StructInfo::Field {
  FieldInfo info;
  Schema rules;
  std::string rules_error;  // why they could not be compiled

  bool required() const { return !info.optional && !info.has_default; }
};

void FieldInfo::set_rule(const char* keyword, Json value) { rules[keyword] = std::move(value); }

StructInfo::StructInfo(std::vector<FieldInfo> fields) {
  fields_.reserve(fields.size());
  for (FieldInfo& info : fields) {
    Field& field = fields_.emplace_back(std::move(info));
    if (field.info.rules.empty()) continue;
    if (Result<Schema> rules = Schema::compile(field.info.rules)) {
      field.rules = *std::move(rules);
    } else {
      field.rules_error = rules.error().message();
    }
  }
}

StructInfo::~StructInfo() = default;

const StructInfo::Field* StructInfo::find(std::string_view name) const {
  const auto found = std::ranges::find_if(fields_, [name](const Field& field) { return field.info.name == name; });
  return found == fields_.end() ? nullptr : &*found;
}

Json StructInfo::schema(SchemaWriter& writer) const {
  Json properties = Json::object();
  Json required = Json::array();
  for (const Field& field : fields_) {
    const std::string_view outer = std::exchange(writer.field_, field.info.name);
    Json property = field.info.access->schema(writer);
    writer.field_ = outer;

    for (const auto& [keyword, value] : field.info.rules.items()) property[keyword] = value;
    if (field.info.optional && field.info.rules.contains("enum")) property["enum"].push_back(nullptr);
    if (!field.info.description.empty()) {
      const std::string of_type = property.value("description", "");
      property["description"] = of_type.empty() ? field.info.description : field.info.description + " " + of_type;
    }
    if (field.info.has_default) property["default"] = field.info.access->default_json();
    properties[field.info.name] = std::move(property);
    if (field.required()) required.push_back(field.info.name);
  }
  Json schema = {{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  schema["additionalProperties"] = false;
  return schema;
}

void StructInfo::read(const Json& json, void* owner, ArgumentReader& reader) const {
  const Json::object_t* members = reader.read_object(json);
  if (members == nullptr) return;
  if (reader.depth() >= kMaxDepth) {
    return reader.add_error("too_deep", fmt::format("is nested more than {} levels deep", kMaxDepth));
  }
  for (const Field& field : fields_) {
    const auto member = members->find(field.info.name);
    reader.push(field.info.name);
    if (member == members->end()) {
      if (field.info.has_default) field.info.access->assign_default(owner);
      if (field.required()) reader.add_error("required", "is required");
    } else {
      const std::size_t before = reader.error_count();
      field.info.access->read(member->second, owner, reader);
      const bool absent = field.info.optional && member->second.is_null();
      if (reader.error_count() == before && !absent) {
        if (!field.rules_error.empty()) reader.add_error("invalid_schema", "cannot be checked: " + field.rules_error);
        for (const SchemaError& error : field.rules.validate(member->second)) {
          reader.add_error(error.keyword, error.message);
        }
      }
    }
    reader.pop();
  }
  for (const auto& [name, member] : *members) {
    if (find(name) != nullptr) continue;
    reader.push(name);
    reader.add_error("additionalProperties", fields_.empty() ? "is not known; there are no arguments"
                                                             : "is not known; known are " + names_of(fields_));
    reader.pop();
  }
}

Json StructInfo::write(const void* owner) const {
  Json json = Json::object();
  for (const Field& field : fields_) {
    Json value = field.info.access->write(owner);
    // An optional that is left out takes its default, so one that has a default must say that it is null.
    if (field.info.optional && value.is_null() && !field.info.has_default) continue;
    json[field.info.name] = std::move(value);
  }
  return json;
}

Json SchemaWriter::write(const StructInfo& info) {
  const auto is_this = [&info](const Named& named) { return named.info == &info; };
  if (const auto found = std::ranges::find_if(defined_, is_this); found != defined_.end()) {
    return {{"$ref", "#/$defs/" + found->name}};
  }
  if (const auto found = std::ranges::find_if(open_, is_this); found != open_.end()) {
    if (found == open_.begin()) return {{"$ref", "#"}};
    found->referred = true;
    return {{"$ref", "#/$defs/" + found->name}};
  }
  open_.push_back({&info, unused_name(field_)});
  Json schema = info.schema(*this);
  const Named named = open_.back();
  open_.pop_back();
  if (!named.referred) return schema;
  definitions_[named.name] = std::move(schema);
  defined_.push_back(named);
  return {{"$ref", "#/$defs/" + named.name}};
}

Json SchemaWriter::document(const StructInfo& info) {
  Json schema = write(info);
  if (!definitions_.empty()) schema["$defs"] = std::move(definitions_);
  return schema;
}

std::string SchemaWriter::unused_name(std::string_view wish) const {
  std::string base;
  for (const char c : wish) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    base += plain ? c : '_';  // the name stands in a URI
  }
  const auto used = [this](const std::string& name) {
    const auto has_name = [&name](const Named& named) { return named.name == name; };
    return std::ranges::any_of(open_, has_name) || std::ranges::any_of(defined_, has_name);
  };
  std::string name = base;
  for (int i = 2; used(name); ++i) name = fmt::format("{}_{}", base, i);
  return name;
}

Json type_schema(std::string_view type) { return {{"type", type}}; }

// Bounds cost tokens in every request. They are written where a model might well exceed them.
Json integer_schema(std::int64_t minimum, std::uint64_t maximum) {
  Json schema = type_schema("integer");
  const bool narrow = maximum <= std::numeric_limits<std::uint16_t>::max();
  if (narrow || minimum == 0) schema["minimum"] = minimum;
  if (narrow) schema["maximum"] = maximum;
  return schema;
}

Json array_schema(Json items) { return {{"type", "array"}, {"items", std::move(items)}}; }
Json map_schema(Json values) { return {{"type", "object"}, {"additionalProperties", std::move(values)}}; }

Json enum_schema(const std::vector<EnumEntry>& entries) {
  Json names = Json::array();
  std::string descriptions;
  for (const EnumEntry& entry : entries) {
    names.push_back(entry.name);
    if (entry.description.empty()) continue;
    descriptions += fmt::format("{}{}: {}", descriptions.empty() ? "" : "; ", entry.name, entry.description);
  }
  Json schema = {{"type", "string"}, {"enum", std::move(names)}};
  if (!descriptions.empty()) schema["description"] = std::move(descriptions);
  return schema;
}

Json nullable_schema(Json schema) {
  if (!schema.contains("type")) return {{"anyOf", Json::array({std::move(schema), type_schema("null")})}};
  schema["type"] = Json::array({schema["type"], "null"});
  if (schema.contains("enum")) schema["enum"].push_back(nullptr);
  return schema;
}

Json enum_name(std::int64_t value, const std::vector<EnumEntry>& entries) {
  const auto found = std::ranges::find(entries, value, &EnumEntry::value);
  return found == entries.end() ? Json(value) : Json(found->name);
}

Json Codec<bool>::schema(SchemaWriter&) { return type_schema("boolean"); }
bool Codec<bool>::read(const Json& json, ArgumentReader& reader) { return reader.read_bool(json); }
Json Codec<bool>::write(bool value) { return value; }

Json Codec<std::string>::schema(SchemaWriter&) { return type_schema("string"); }
std::string Codec<std::string>::read(const Json& json, ArgumentReader& reader) { return reader.read_string(json); }
Json Codec<std::string>::write(const std::string& value) { return value; }

Json Codec<Json>::schema(SchemaWriter&) { return Json::object(); }
Json Codec<Json>::read(const Json& json, ArgumentReader&) { return json; }
Json Codec<Json>::write(const Json& value) { return value; }

}  // namespace allm::detail
