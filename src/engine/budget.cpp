#include "allm/budget.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "engine/saturating_sum.hpp"

namespace allm {
namespace {

constexpr double kNanos = 1e9;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
// The smallest double that does not fit into std::int64_t.
constexpr double kTooMuch = 9223372036854775808.0;

std::int64_t known_or_zero(std::optional<std::int64_t> amount) { return std::max<std::int64_t>(amount.value_or(0), 0); }

// Rounds down, because a limit must not become larger.
std::optional<std::int64_t> limit_of(const std::optional<double>& cost) {
  if (!cost) return std::nullopt;
  const double nanos = *cost * kNanos;
  if (!(nanos > 0)) return 0;
  return nanos >= kTooMuch ? kMost : static_cast<std::int64_t>(nanos);
}

std::optional<std::int64_t> limit_of(const std::optional<std::int64_t>& tokens) {
  return tokens ? std::optional(known_or_zero(tokens)) : std::nullopt;
}

}  // namespace

std::int64_t cost_to_nanos(double cost) {
  const double nanos = std::ceil(cost * kNanos);
  if (nanos <= 0) return 0;
  return nanos < kTooMuch ? static_cast<std::int64_t>(nanos) : kMost;  // also if it is not a number
}

double nanos_to_cost(std::int64_t nanos) { return static_cast<double>(nanos) / kNanos; }

Budget::Budget(const BudgetOptions& options)
    : strict_(options.strict),
      tokens_{.limit = limit_of(options.max_tokens)},
      nanos_{.limit = limit_of(options.max_cost)} {}

std::int64_t Budget::Account::left() const { return *limit - saturating_sum(spent, reserved); }

std::optional<BudgetRefusal> Budget::refuse(const Account& account, std::optional<std::int64_t> amount,
                                            BudgetRefusal::What what) const {
  if (!account.limit) return std::nullopt;
  const bool is_unknown = !amount && strict_;
  if (!is_unknown && known_or_zero(amount) <= account.left()) return std::nullopt;
  BudgetRefusal refusal{.what = what, .limit = *account.limit, .left = account.left()};
  if (!is_unknown) refusal.needed = known_or_zero(amount);
  return refusal;
}

Result<Reserved> Budget::reserve(const Spend& worst_case) {
  const std::lock_guard lock(mutex_);
  if (auto refusal = refuse(tokens_, worst_case.tokens, BudgetRefusal::What::tokens)) return *refusal;
  if (auto refusal = refuse(nanos_, worst_case.nanos, BudgetRefusal::What::cost)) return *refusal;
  const Spend kept{.tokens = known_or_zero(worst_case.tokens), .nanos = known_or_zero(worst_case.nanos)};
  tokens_.reserved = saturating_sum(tokens_.reserved, *kept.tokens);
  nanos_.reserved = saturating_sum(nanos_.reserved, *kept.nanos);
  reservations_.emplace(++last_id_, kept);
  return last_id_;
}

Status Budget::settle(ReservationId id, const Spend& actual) {
  const std::lock_guard lock(mutex_);
  const auto found = reservations_.find(id);
  if (found == reservations_.end()) {
    return std::unexpected(validation_error(ValidationError::Reason::invalid_option, {std::string("id")},
                                            "unknown_reservation",
                                            "the budget has no reservation " + std::to_string(id)));
  }
  const auto replace = [](Account& account, std::int64_t reserved, std::optional<std::int64_t> used) {
    account.reserved -= reserved;
    account.spent = saturating_sum(account.spent, used ? known_or_zero(used) : reserved);
  };
  replace(tokens_, *found->second.tokens, actual.tokens);
  replace(nanos_, *found->second.nanos, actual.nanos);
  reservations_.erase(found);
  return {};
}

Result<Spend> Budget::left() {
  const std::lock_guard lock(mutex_);
  Spend left;
  if (tokens_.limit) left.tokens = tokens_.left();
  if (nanos_.limit) left.nanos = nanos_.left();
  return left;
}

Spend Budget::spent() const {
  const std::lock_guard lock(mutex_);
  return {.tokens = tokens_.spent, .nanos = nanos_.spent};
}

}  // namespace allm
