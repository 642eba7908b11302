#include "engine/budget_rules.hpp"

#include <algorithm>
#include <limits>

#include "engine/saturating_sum.hpp"

namespace allm {

std::int64_t BudgetAccount::left() const { return *limit - saturating_sum(spent, reserved); }

std::optional<BudgetRefusal> BudgetAccount::refuse(std::optional<std::int64_t> amount, BudgetRefusal::What what,
                                                   bool strict) const {
  if (!limit) return std::nullopt;
  const bool is_unknown = !amount && strict;
  if (!is_unknown && known_or_zero(amount) <= left()) return std::nullopt;
  BudgetRefusal refusal{.what = what, .limit = *limit, .left = left()};
  if (!is_unknown) refusal.needed = known_or_zero(amount);
  return refusal;
}

std::int64_t known_or_zero(std::optional<std::int64_t> amount) { return std::max<std::int64_t>(amount.value_or(0), 0); }

Spend limits_of(const BudgetOptions& options) {
  // The smallest double that does not fit into std::int64_t.
  constexpr double kFirstTooLarge = 9223372036854775808.0;
  Spend limits;
  if (options.max_tokens) limits.tokens = known_or_zero(options.max_tokens);
  if (options.max_cost) {
    const double nanos = *options.max_cost * 1e9;
    limits.nanos = !(nanos > 0)              ? 0
                   : nanos >= kFirstTooLarge ? std::numeric_limits<std::int64_t>::max()
                                             : static_cast<std::int64_t>(nanos);
  }
  return limits;
}

}  // namespace allm
