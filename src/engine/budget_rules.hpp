// The arithmetic of budgets, which those in memory and those in stores share. Pure; safe to call from any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "allm/budget.hpp"

namespace allm {

// One of the two amounts of a budget.
struct BudgetAccount {
  std::optional<std::int64_t> limit;
  std::int64_t spent = 0;
  std::int64_t reserved = 0;

  // The limit must be set.
  std::int64_t left() const;
  // nullopt: the amount fits. `strict` as in BudgetOptions.
  std::optional<BudgetRefusal> refuse(std::optional<std::int64_t> amount, BudgetRefusal::What what, bool strict) const;
};

// An amount that is not known or negative is 0.
std::int64_t known_or_zero(std::optional<std::int64_t> amount);

// The limits of a budget. Costs are rounded down, because a limit must not become larger.
Spend limits_of(const BudgetOptions& options);

}  // namespace allm
