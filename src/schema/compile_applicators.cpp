// The compiler's handlers for references and for keywords that apply schemas.
#include <utility>

#include "schema/compiler.hpp"
#include "schema/uri.hpp"

namespace allm::schema_detail {

void Compiler::compile_ref(const Entry& entry) {
  if (const std::string* reference = string(entry)) {
    made(entry.node.applicators).ref = document_.resolve(entry.node, entry.info.name, *reference);
  }
}

void Compiler::compile_dynamic_ref(const Entry& entry) {
  const std::string* reference = string(entry);
  if (reference == nullptr) return;
  const Node* target = document_.resolve(entry.node, entry.info.name, *reference);
  if (target == nullptr) return;
  const std::string anchor = percent_decode(split_fragment(*reference).fragment);
  const auto& anchors = target->resource->dynamic_anchors;
  if (const auto found = anchors.find(anchor); found != anchors.end() && found->second == target) {
    made(entry.node.applicators).dynamic_ref = DynamicRef{.initial = target, .anchor = anchor};
    program_.has_dynamic_refs = true;
  } else {
    made(entry.node.applicators).static_ref = target;
  }
}

const Node* Compiler::subschema(const Entry& entry) {
  const Node* node = document_.node_of(entry.value);
  if (node == nullptr) wrong_type(entry, "a schema (an object or a boolean)", entry.value);
  return node;
}

std::vector<const Node*> Compiler::subschemas(const Entry& entry) {
  std::vector<const Node*> nodes;
  if (!entry.value.is_array() || entry.value.empty()) {
    wrong(entry, "invalid_type", "must be an array of at least one schema");
    return nodes;
  }
  std::int64_t i = 0;
  for (const Json& item : entry.value.get_ref<const Json::array_t&>()) {
    const Node* node = document_.node_of(item);
    if (node == nullptr) wrong_type(entry, "a schema (an object or a boolean)", item, {i});
    nodes.push_back(node);
    ++i;
  }
  return nodes;
}

void Compiler::compile_items(const Entry& entry) {
  ArrayRules& rules = made(entry.node.array);
  if (entry.info.keyword == Keyword::additional_items) {
    const auto items = entry.text.find("items");
    if (items != entry.text.end() && items->is_array()) rules.rest = subschema(entry);
  } else if (!entry.value.is_array()) {
    rules.rest = subschema(entry);
  } else if (dialect_ != Dialect::draft7) {
    wrong(entry, "invalid_type", "must be a schema, got array; draft 2020-12 writes it as prefixItems");
  } else if (!entry.value.empty()) {
    rules.prefix = subschemas(entry);
  }
}

void Compiler::compile_properties(const Entry& entry) {
  const Json::object_t* members = object(entry);
  if (members == nullptr) return;
  KeyTable& keys = made(entry.node.object).keys;
  for (const auto& [name, value] : *members) {
    const Node* node = document_.node_of(value);
    if (node == nullptr) wrong_type(entry, "a schema (an object or a boolean)", value, {name});
    keys.intern(name).schema = node;
  }
}

void Compiler::compile_pattern_properties(const Entry& entry) {
  const Json::object_t* members = object(entry);
  if (members == nullptr) return;
  for (const auto& [source, value] : *members) {
    const Node* node = document_.node_of(value);
    if (node == nullptr) wrong_type(entry, "a schema (an object or a boolean)", value, {source});
    if (auto compiled = pattern(entry, source, {source})) {
      made(entry.node.object).patterns.push_back({.pattern = std::move(compiled), .schema = node});
    }
  }
}

void Compiler::compile_dependencies(const Entry& entry) {
  const Json::object_t* members = object(entry);
  if (members == nullptr) return;
  ObjectRules& rules = made(entry.node.object);
  for (const auto& [name, value] : *members) {
    Dependency dependency;
    dependency.trigger = rules.keys.watch(name);
    dependency.keyword = entry.info.name;
    if (entry.info.keyword != Keyword::dependent_schemas && value.is_array()) {
      dependency.required = watched_names(entry, value, {name});
    } else if (entry.info.keyword != Keyword::dependent_required && document_.node_of(value) != nullptr) {
      dependency.schema = document_.node_of(value);
    } else {
      const bool wants_names = entry.info.keyword == Keyword::dependent_required;
      wrong_type(entry, wants_names ? "an array of strings" : "a schema (an object or a boolean)", value, {name});
    }
    rules.dependencies.push_back(std::move(dependency));
  }
}

}  // namespace allm::schema_detail
