#include "stores/budgets/budget_changes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "data/utf8.hpp"
#include "engine/budget_rules.hpp"
#include "engine/saturating_sum.hpp"
#include "stores/store_errors.hpp"

namespace allm {
namespace {

constexpr std::size_t kLongestName = 200;

BudgetAccount tokens_of(const StoredBudget& budget) {
  return {.limit = budget.terms.limit.tokens, .spent = *budget.spent.tokens, .reserved = *budget.reserved.tokens};
}

BudgetAccount nanos_of(const StoredBudget& budget) {
  return {.limit = budget.terms.limit.nanos, .spent = *budget.spent.nanos, .reserved = *budget.reserved.nanos};
}

void add(Spend& sum, const Spend& amount) {
  sum.tokens = saturating_sum(*sum.tokens, *amount.tokens);
  sum.nanos = saturating_sum(*sum.nanos, *amount.nanos);
}

}  // namespace

BudgetTerms terms_of(const BudgetOptions& options) { return {.limit = limits_of(options), .strict = options.strict}; }

Spend StoredBudget::left() const {
  Spend left;
  if (terms.limit.tokens) left.tokens = tokens_of(*this).left();
  if (terms.limit.nanos) left.nanos = nanos_of(*this).left();
  return left;
}

bool is_budget_name(const std::string& name) {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7F; };
  return !name.empty() && name.size() <= kLongestName && is_utf8(name) && std::ranges::none_of(name, is_control);
}

Status check_budget_name(const std::string& name) {
  if (is_budget_name(name)) return {};
  return std::unexpected(
      validation_error(ValidationError::Reason::invalid_option, {std::string("name")}, "invalid_name",
                       "the name of a budget must have 1 to 200 bytes of valid UTF-8 without control characters"));
}

Error no_such_budget(const std::string& name) {
  return store_error(StoreError::Reason::not_found, "there is no budget '" + name + "'");
}

Error budget_exists(const std::string& name) {
  return store_error(StoreError::Reason::already_exists, "budget '" + name + "' exists already");
}

Error unknown_reservation(const std::string& name, ReservationId id) {
  return validation_error(ValidationError::Reason::invalid_option, {std::string("id")}, "unknown_reservation",
                          "budget '" + name + "' has no reservation " + std::to_string(id));
}

std::optional<BudgetRefusal> refuse(const StoredBudget& budget, const Spend& amount) {
  const bool strict = budget.terms.strict;
  if (auto refusal = tokens_of(budget).refuse(amount.tokens, BudgetRefusal::What::tokens, strict)) return refusal;
  return nanos_of(budget).refuse(amount.nanos, BudgetRefusal::What::cost, strict);
}

Spend kept_amount(const Spend& amount) {
  return {.tokens = known_or_zero(amount.tokens), .nanos = known_or_zero(amount.nanos)};
}

void add_reservation(StoredBudget& budget, const Spend& kept) {
  add(budget.reserved, kept);
  ++budget.reservations;
}

void forget_reservation(StoredBudget& budget, const Spend& kept) {
  // Sums that were cut at the largest number may be less than their parts.
  budget.reserved.tokens = std::max<std::int64_t>(*budget.reserved.tokens - *kept.tokens, 0);
  budget.reserved.nanos = std::max<std::int64_t>(*budget.reserved.nanos - *kept.nanos, 0);
  if (budget.reservations > 0) --budget.reservations;
}

void add_spending(StoredBudget& budget, const Spend& kept, const Spend& actual) {
  const Spend used = {.tokens = actual.tokens ? actual.tokens : kept.tokens,
                      .nanos = actual.nanos ? actual.nanos : kept.nanos};
  add(budget.spent, kept_amount(used));
}

}  // namespace allm
