#include "schema/evaluator.hpp"

#include <algorithm>

#include "schema/messages.hpp"

namespace allm::schema_detail {

Evaluator::Evaluator(const Program& program, std::vector<SchemaError>* errors)
    : program_(program),
      errors_(errors),
      max_errors_(std::max<std::size_t>(program.options.max_errors, 1)),
      steps_left_(program.options.max_steps) {}

bool Evaluator::run(const Json& instance) {
  // A check that a limit ended proves nothing, so the result of `not` or `if` over it does not count.
  return check(program_.nodes.front(), instance, nullptr) && !exhausted_;
}

bool Evaluator::spend(std::size_t steps) {
  if (steps <= steps_left_) {
    steps_left_ -= steps;
    return !exhausted_;
  }
  exhaust("checking this value takes too much work; the limit is " + std::to_string(program_.options.max_steps) +
          " steps");
  return false;
}

void Evaluator::exhaust(std::string message) {
  steps_left_ = 0;
  if (exhausted_) return;
  exhausted_ =
      SchemaError{.instance_path = place_path(), .schema_path = {}, .keyword = {}, .message = std::move(message)};
}

bool Evaluator::check(const Node& node, const Json& instance, Evaluated out) {
  if (node.kind == Node::Kind::accepts_all) return true;
  if (!spend(1)) return false;
  if (node.kind == Node::Kind::rejects_all) return fail_rejected(node);
  const std::size_t depth = depth_;
  if (depth >= program_.options.max_depth) {
    const std::size_t in_place = depth - (place_ == nullptr ? 0 : place_->depth);
    exhaust(in_place > program_.nodes.size() ? "the schema applies itself to this value without end, by $dynamicRef"
                                             : "nested too deeply");
    return false;
  }
  const Scope* const outer = scope_;
  const Scope scope{.parent = outer, .resource = node.resource};
  if (program_.has_dynamic_refs && (outer == nullptr || outer->resource != node.resource)) scope_ = &scope;
  depth_ = depth + 1;
  const bool has_unevaluated = (node.unevaluated_items != nullptr && instance.is_array()) ||
                               (node.unevaluated_properties != nullptr && instance.is_object());
  const bool valid = has_unevaluated ? check_with_unevaluated(node, instance, out) : check_all(node, instance, out);
  depth_ = depth;
  scope_ = outer;
  return valid;
}

bool Evaluator::check_all(const Node& node, const Json& instance, Evaluated out) {
  if (node.types != kAnyType && (node.types & static_cast<TypeSet>(type_of(instance))) == 0) {
    // Further errors about a value of the wrong type would only distract.
    return fail(node, "type",
                [&] { return "must be " + type_names(node.types) + ", got " + std::string(type_name(instance)); });
  }
  bool ok = true;
  if ((node.enumeration || node.constant) && !proceed(ok, check_values(node, instance))) return false;
  if (instance.is_object()) {
    if (node.object && !proceed(ok, check_object(node, instance, out))) return false;
  } else if (const auto* text = instance.get_ptr<const std::string*>()) {
    if (node.string && !proceed(ok, check_string(node, *text))) return false;
  } else if (const auto* items = instance.get_ptr<const Json::array_t*>()) {
    if (node.array && !proceed(ok, check_array(node, *items, out))) return false;
  } else if (node.number && instance.is_number()) {
    if (!proceed(ok, check_number(node, instance))) return false;
  }
  if (node.applicators && !proceed(ok, check_applicators(node, instance, out))) return false;
  return ok;
}

bool Evaluator::check_with_unevaluated(const Node& node, const Json& instance, Evaluated out) {
  if (!spend(instance.size())) return false;
  BitSet seen(instance.size());
  // It is unknown what a failed schema has evaluated, so the remaining items or members cannot be checked.
  if (!check_all(node, instance, &seen)) return false;
  const bool ok = instance.is_array()
                      ? check_unevaluated_items(node, instance.get_ref<const Json::array_t&>(), seen)
                      : check_unevaluated_properties(node, instance.get_ref<const Json::object_t&>(), seen);
  if (ok && out != nullptr) out->insert_all();
  return ok;
}

bool Evaluator::check_item(const Node& node, const Json& item, std::size_t index) {
  const Place* const outer = place_;
  const Place place{.parent = outer, .key = {}, .index = static_cast<std::int64_t>(index), .depth = depth_};
  place_ = &place;
  const bool valid = check(node, item, nullptr);
  place_ = outer;
  return valid;
}

bool Evaluator::check_member(const Node& node, const Json::object_t::value_type& member) {
  const Place* const outer = place_;
  const Place place{.parent = outer, .key = member.first, .index = -1, .depth = depth_};
  place_ = &place;
  const bool valid = check(node, member.second, nullptr);
  place_ = outer;
  return valid;
}

bool Evaluator::matches(const Node& node, const Json& instance, Evaluated out) {
  auto* const errors = std::exchange(errors_, nullptr);
  const bool valid = check(node, instance, out);
  errors_ = errors;
  return valid;
}

bool Evaluator::check_apart(const Node& node, const Json& instance, Evaluated out, std::vector<SchemaError>& errors) {
  auto* const outer = std::exchange(errors_, &errors);
  const bool valid = check(node, instance, out);
  errors_ = outer;
  return valid;
}

}  // namespace allm::schema_detail
