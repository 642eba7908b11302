// The evaluator's checks of objects.
#include "schema/evaluator.hpp"
#include "schema/messages.hpp"

namespace allm::schema_detail {

bool Evaluator::check_object(const Node& node, const Json& instance, Evaluated out) {
  const ObjectRules& rules = *node.object;
  const auto& members = instance.get_ref<const Json::object_t&>();
  bool ok = true;
  if (members.size() < rules.min_properties &&
      !proceed(ok, fail(node, "minProperties", [&] {
                 return "must have at least " + plural(rules.min_properties, "property", "properties") + ", got " +
                        std::to_string(members.size());
               }))) {
    return false;
  }
  if (members.size() > rules.max_properties &&
      !proceed(ok, fail(node, "maxProperties", [&] {
                 return "must have at most " + plural(rules.max_properties, "property", "properties") + ", got " +
                        std::to_string(members.size());
               }))) {
    return false;
  }
  BitSet present(rules.keys.watched());
  if (!proceed(ok, check_members(node, members, present, out))) return false;
  if (!proceed(ok, check_required(node, present))) return false;
  if (!rules.dependencies.empty() && !proceed(ok, check_dependencies(node, instance, present, out))) return false;
  return ok;
}

bool Evaluator::check_members(const Node& node, const Json::object_t& members, BitSet& present, Evaluated out) {
  const ObjectRules& rules = *node.object;
  bool ok = true;
  std::size_t next = 0;
  for (const auto& member : members) {
    const std::size_t i = next++;
    const std::string& key = member.first;
    if (!spend(1 + key.size() / 8)) return false;
    bool declared = false;
    if (const KeyTable::Entry* entry = rules.keys.find(key)) {
      if (entry->watch != KeyTable::kUnwatched) present.insert(entry->watch);
      declared = entry->schema != nullptr;
      if (declared && !proceed(ok, check_member(*entry->schema, member))) return false;
    }
    for (const auto& [pattern, schema] : rules.patterns) {
      if (!spend(1 + pattern->cost(key.size()))) return false;
      if (!pattern->matches(key)) continue;
      declared = true;
      if (!proceed(ok, check_member(*schema, member))) return false;
    }
    if (!declared && rules.additional != nullptr) {
      declared = true;
      if (!proceed(ok, check_undeclared(node, *rules.additional, member, "additionalProperties"))) return false;
    }
    if (declared && out != nullptr) out->insert(i);
    if (rules.names != nullptr && !proceed(ok, check_name(node, key))) return false;
  }
  return ok;
}

bool Evaluator::check_undeclared(const Node& node, const Node& schema, const Json::object_t::value_type& member,
                                 std::string_view keyword) {
  if (schema.kind != Node::Kind::rejects_all) return check_member(schema, member);
  return fail(node, keyword, [&] { return "unexpected property " + in_quotes(member.first); });
}

bool Evaluator::check_name(const Node& node, const std::string& name) {
  const Json text(name);
  if (!collecting()) return check(*node.object->names, text, nullptr);
  std::vector<SchemaError> errors;
  if (check_apart(*node.object->names, text, nullptr, errors)) return true;
  return fail(node, "propertyNames", [&] {
    return "property name " + in_quotes(name) + " is not allowed" +
           (errors.empty() ? std::string() : ": " + errors.front().message);
  });
}

bool Evaluator::check_required(const Node& node, const BitSet& present) {
  const ObjectRules& rules = *node.object;
  if (!spend(rules.required.size() / 8)) return false;
  bool ok = true;
  for (const std::uint32_t name : rules.required) {
    if (present.contains(name)) continue;
    if (!proceed(ok, fail(node, "required",
                          [&] { return "missing required property " + in_quotes(rules.keys.watched_name(name)); }))) {
      return false;
    }
  }
  return ok;
}

bool Evaluator::check_dependencies(const Node& node, const Json& instance, const BitSet& present, Evaluated out) {
  const ObjectRules& rules = *node.object;
  bool ok = true;
  for (const Dependency& dependency : rules.dependencies) {
    if (!spend(1 + dependency.required.size())) return false;
    if (!present.contains(dependency.trigger)) continue;
    for (const std::uint32_t name : dependency.required) {
      if (present.contains(name)) continue;
      if (!proceed(ok, fail(node, dependency.keyword, [&] {
                     return "missing property " + in_quotes(rules.keys.watched_name(name)) +
                            ", which is required beside " + in_quotes(rules.keys.watched_name(dependency.trigger));
                   }))) {
        return false;
      }
    }
    if (dependency.schema != nullptr && !proceed(ok, check(*dependency.schema, instance, out))) return false;
  }
  return ok;
}

bool Evaluator::check_unevaluated_properties(const Node& node, const Json::object_t& members, const BitSet& seen) {
  bool ok = true;
  std::size_t i = 0;
  for (const auto& member : members) {
    if (seen.contains(i++)) continue;
    if (!proceed(ok, check_undeclared(node, *node.unevaluated_properties, member, "unevaluatedProperties"))) {
      return false;
    }
  }
  return ok;
}

}  // namespace allm::schema_detail
