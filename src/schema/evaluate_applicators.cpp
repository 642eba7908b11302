// The evaluator's checks of schemas that apply to the instance itself.
#include <algorithm>

#include "schema/evaluator.hpp"
#include "schema/messages.hpp"

namespace allm::schema_detail {

bool Evaluator::check_applicators(const Node& node, const Json& instance, Evaluated out) {
  const Applicators& rules = *node.applicators;
  bool ok = true;
  if (rules.ref != nullptr && !proceed(ok, check(*rules.ref, instance, out))) return false;
  if (rules.static_ref != nullptr && !proceed(ok, check(*rules.static_ref, instance, out))) return false;
  if (rules.dynamic_ref && !proceed(ok, check(dynamic_target(*rules.dynamic_ref), instance, out))) return false;
  for (const Node* schema : rules.all_of) {
    if (!proceed(ok, check(*schema, instance, out))) return false;
  }
  if (!rules.any_of.empty() && !proceed(ok, check_alternatives(node, instance, out, false))) return false;
  if (!rules.one_of.empty() && !proceed(ok, check_alternatives(node, instance, out, true))) return false;
  if (rules.negated != nullptr && matches(*rules.negated, instance) &&
      !proceed(ok, fail(node, "not", [] { return std::string("must not match the schema in 'not'"); }))) {
    return false;
  }
  if (rules.condition != nullptr && !proceed(ok, check_condition(rules, instance, out))) return false;
  return ok;
}

const Node& Evaluator::dynamic_target(const DynamicRef& ref) {
  const Node* target = ref.initial;
  std::size_t scopes = 0;
  for (const Scope* scope = scope_; scope != nullptr; scope = scope->parent) {
    const auto found = scope->resource->dynamic_anchors.find(ref.anchor);
    if (found != scope->resource->dynamic_anchors.end()) target = found->second;
    ++scopes;
  }
  spend(scopes);
  return *target;
}

bool Evaluator::check_condition(const Applicators& rules, const Json& instance, Evaluated out) {
  bool holds = false;
  if (out == nullptr) {
    holds = matches(*rules.condition, instance);
  } else {
    if (!spend(instance.size() / 8)) return false;
    BitSet seen(instance.size());
    holds = matches(*rules.condition, instance, &seen);
    if (holds) out->insert_from(seen);
  }
  const Node* consequence = holds ? rules.consequence : rules.alternative;
  return consequence == nullptr || check(*consequence, instance, out);
}

bool Evaluator::check_alternatives(const Node& node, const Json& instance, Evaluated out, bool exactly_one) {
  const auto& schemas = exactly_one ? node.applicators->one_of : node.applicators->any_of;
  const std::string_view keyword = exactly_one ? "oneOf" : "anyOf";
  std::vector<std::vector<SchemaError>> errors(collecting() ? schemas.size() : 0);
  std::optional<std::size_t> match;
  for (std::size_t i = 0; i < schemas.size(); ++i) {
    if (out != nullptr && !spend(instance.size() / 8)) return false;
    BitSet seen(out == nullptr ? 0 : instance.size());
    const Evaluated noted = out == nullptr ? nullptr : &seen;
    const bool valid =
        collecting() ? check_apart(*schemas[i], instance, noted, errors[i]) : check(*schemas[i], instance, noted);
    if (!valid) continue;
    if (match && exactly_one) {
      return fail(node, keyword, [&] {
        return "must match exactly one alternative, but matches both number " + std::to_string(*match + 1) +
               " and number " + std::to_string(i + 1);
      });
    }
    match = i;
    if (out != nullptr) out->insert_from(seen);
    // One match decides `anyOf` when the evaluated items or members are not needed.
    if (out == nullptr && !exactly_one) return true;
  }
  if (match || exhausted_) return match && !exhausted_;
  if (collecting()) explain_alternatives(node, keyword, std::move(errors));
  return false;
}

}  // namespace allm::schema_detail
