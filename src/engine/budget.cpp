#include "allm/budget.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "engine/budget_rules.hpp"
#include "engine/saturating_sum.hpp"

namespace allm {
namespace {

constexpr double kNanos = 1e9;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
// The smallest double that does not fit into std::int64_t.
constexpr double kTooMuch = 9223372036854775808.0;

}  // namespace

std::int64_t cost_to_nanos(double cost) {
  const double nanos = std::ceil(cost * kNanos);
  if (nanos <= 0) return 0;
  return nanos < kTooMuch ? static_cast<std::int64_t>(nanos) : kMost;  // also if it is not a number
}

double nanos_to_cost(std::int64_t nanos) { return static_cast<double>(nanos) / kNanos; }

Budget::Budget(const BudgetOptions& options)
    : strict_(options.strict), tokens_{.limit = limits_of(options).tokens}, nanos_{.limit = limits_of(options).nanos} {}

std::int64_t Budget::Account::left() const { return BudgetAccount{limit, spent, reserved}.left(); }

std::optional<BudgetRefusal> Budget::refuse(const Account& account, std::optional<std::int64_t> amount,
                                            BudgetRefusal::What what) const {
  return BudgetAccount{account.limit, account.spent, account.reserved}.refuse(amount, what, strict_);
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
