// The evaluator's checks of values by themselves: enumerations, numbers and strings.
#include <algorithm>

#include "schema/evaluator.hpp"
#include "schema/messages.hpp"

namespace allm::schema_detail {
namespace {

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

bool Evaluator::check_values(const Node& node, const Json& instance) {
  std::size_t cost = 0;
  const bool in_constant = !node.constant || node.constant->contains(instance, cost);
  const bool in_enumeration = !node.enumeration || node.enumeration->contains(instance, cost);
  if (!spend(cost)) return false;
  bool ok = true;
  if (!in_constant && !proceed(ok, fail(node, "const", [&] {
                                 return "must be " + preview(node.constant->values().front()) + ", got " +
                                        preview(instance);
                               }))) {
    return false;
  }
  if (!in_enumeration && !proceed(ok, fail(node, "enum", [&] {
                                    return "must be " + choices(*node.enumeration) + ", got " + preview(instance);
                                  }))) {
    return false;
  }
  return ok;
}

bool Evaluator::check_number(const Node& node, const Json& instance) {
  const NumberRules& rules = *node.number;
  const Number value(instance);
  bool ok = true;
  const auto require = [&](bool holds, std::string_view keyword, std::string_view phrase,
                           const std::optional<Number>& limit) {
    return proceed(ok, holds || fail(node, keyword, [&] {
                         return std::string(phrase) + limit->to_text() + ", got " + value.to_text();
                       }));
  };
  const bool complete =
      require(!rules.minimum || value >= *rules.minimum, "minimum", "must be at least ", rules.minimum) &&
      require(!rules.maximum || value <= *rules.maximum, "maximum", "must be at most ", rules.maximum) &&
      require(!rules.exclusive_minimum || value > *rules.exclusive_minimum, "exclusiveMinimum", "must be greater than ",
              rules.exclusive_minimum) &&
      require(!rules.exclusive_maximum || value < *rules.exclusive_maximum, "exclusiveMaximum", "must be less than ",
              rules.exclusive_maximum) &&
      require(!rules.multiple_of || value.is_multiple_of(*rules.multiple_of), "multipleOf", "must be a multiple of ",
              rules.multiple_of);
  return complete && ok;
}

bool Evaluator::check_string(const Node& node, const std::string& text) {
  const StringRules& rules = *node.string;
  if (!spend(rules.pattern ? rules.pattern->cost(text.size()) : text.size() / 8)) return false;
  bool ok = true;
  // The number of code points is at most that of bytes, and at least a quarter of it.
  if (text.size() > rules.max_length || text.size() / 4 < rules.min_length) {
    const std::size_t length = code_points(text);
    if (length < rules.min_length && !proceed(ok, fail(
                                                      node, "minLength",
                                                      [&] {
                                                        return "must have at least " +
                                                               plural(rules.min_length, "character", "characters") +
                                                               ", got " + std::to_string(length);
                                                      }))) {
      return false;
    }
    if (length > rules.max_length && !proceed(ok, fail(node, "maxLength", [&] {
                                                return "must have at most " +
                                                       plural(rules.max_length, "character", "characters") + ", got " +
                                                       std::to_string(length);
                                              }))) {
      return false;
    }
  }
  if (rules.pattern && !rules.pattern->matches(text)) {
    return fail(node, "pattern", [&] {
      return "must match the pattern " + in_quotes(rules.pattern->source()) + ", got " + preview(Json(clipped(text)));
    });
  }
  return ok;
}

}  // namespace allm::schema_detail
