// The evaluator's checks of arrays.
#include <algorithm>

#include "schema/evaluator.hpp"
#include "schema/messages.hpp"

namespace allm::schema_detail {

bool Evaluator::check_array(const Node& node, const Json::array_t& items, Evaluated out) {
  const ArrayRules& rules = *node.array;
  bool ok = true;
  if (items.size() < rules.min_items && !proceed(ok, fail(node, "minItems", [&] {
                                                   return "must have at least " +
                                                          plural(rules.min_items, "item", "items") + ", got " +
                                                          std::to_string(items.size());
                                                 }))) {
    return false;
  }
  if (items.size() > rules.max_items && !proceed(ok, fail(node, "maxItems", [&] {
                                                   return "must have at most " +
                                                          plural(rules.max_items, "item", "items") + ", got " +
                                                          std::to_string(items.size());
                                                 }))) {
    return false;
  }
  if (!proceed(ok, check_items(node, items, out))) return false;
  if (rules.contains != nullptr && !proceed(ok, check_contains(node, items, out))) return false;
  if (rules.unique && items.size() > 1 && !proceed(ok, check_unique(node, items))) return false;
  return ok;
}

bool Evaluator::check_items(const Node& node, const Json::array_t& items, Evaluated out) {
  const ArrayRules& rules = *node.array;
  const std::size_t covered = rules.rest != nullptr ? items.size() : std::min(rules.prefix.size(), items.size());
  if (!spend(covered)) return false;
  bool ok = true;
  for (std::size_t i = 0; i < covered; ++i) {
    const Node& schema = i < rules.prefix.size() ? *rules.prefix[i] : *rules.rest;
    if (!proceed(ok, check_item(schema, items[i], i))) return false;
  }
  if (out != nullptr) out->insert_below(covered);
  return ok;
}

bool Evaluator::check_contains(const Node& node, const Json::array_t& items, Evaluated out) {
  const ArrayRules& rules = *node.array;
  if (!spend(items.size())) return false;
  std::size_t found = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool decided = found > rules.max_contains || (found >= rules.min_contains && rules.max_contains == kNoLimit);
    if (decided && out == nullptr) break;
    if (!matches(*rules.contains, items[i])) continue;
    ++found;
    if (out != nullptr) out->insert(i);
  }
  if (exhausted_) return false;
  if (found < rules.min_contains) {
    return fail(node, rules.min_contains == 1 ? "contains" : "minContains", [&] {
      return "must contain at least " + plural(rules.min_contains, "item that matches", "items that match") +
             " the schema in 'contains', got " + std::to_string(found);
    });
  }
  if (found > rules.max_contains) {
    return fail(node, "maxContains", [&] {
      return "must contain at most " + plural(rules.max_contains, "item that matches", "items that match") +
             " the schema in 'contains'";
    });
  }
  return true;
}

bool Evaluator::check_unique(const Node& node, const Json::array_t& items) {
  std::size_t cost = 0;
  // Comparing recurses as deep as the items are nested.
  const std::size_t levels = program_.options.max_depth - depth_;
  if (std::ranges::any_of(items, [&](const Json& item) { return deeper_than(item, levels, cost); })) {
    exhaust("nested too deeply");
    return false;
  }
  const auto [first, second] = find_equal_items(items, cost, steps_left_);
  if (!spend(cost)) return false;
  return first == second || fail(node, "uniqueItems", [&] {
           return "items must be unique, but items " + std::to_string(first) + " and " + std::to_string(second) +
                  " are equal";
         });
}

bool Evaluator::check_unevaluated_items(const Node& node, const Json::array_t& items, const BitSet& seen) {
  bool ok = true;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!seen.contains(i) && !proceed(ok, check_item(*node.unevaluated_items, items[i], i))) return false;
  }
  return ok;
}

}  // namespace allm::schema_detail
