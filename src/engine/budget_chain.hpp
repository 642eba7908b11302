// All budgets of a run as one: the limits of its own options, its shared budget, and those of the runs that called it.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "allm/budget.hpp"

namespace allm {

// Reserves in all of its budgets or in none. Safe to use from any thread. Blocks if one of the budgets does.
class BudgetChain : public BudgetLedger {
 public:
  struct Link {
    std::shared_ptr<BudgetLedger> ledger;  // shared with the program and with other runs
    bool of_run = false;                   // see BudgetRefusal
  };
  explicit BudgetChain(std::vector<Link> links) : links_(std::move(links)) {}

  Result<Reserved> reserve(const Spend& worst_case) override;
  Status settle(ReservationId id, const Spend& actual) override;
  // The least of what the budgets have left.
  Result<Spend> left() override;
  bool may_block() const override;

  const std::vector<Link>& links() const { return links_; }

 private:
  const std::vector<Link> links_;
  std::mutex mutex_;
  ReservationId last_id_ = 0;
  std::unordered_map<ReservationId, std::vector<ReservationId>> parts_;  // one for each link
};

// Both budgets as one; either may be null or a chain. A budget that occurs in both is used once.
std::shared_ptr<BudgetLedger> joined(const std::shared_ptr<BudgetLedger>& first,
                                     const std::shared_ptr<BudgetLedger>& second);

// A budget with the limits of a run's own options, which is not strict unless `strict` is true.
std::shared_ptr<BudgetLedger> run_budget(std::optional<std::int64_t> max_total_tokens, std::optional<double> max_cost,
                                         bool strict);

// Counts what a call that was made before has used, in the limits of the run's own options only: shared budgets have
// counted it. `budget` may be null.
void count_recorded(BudgetLedger* budget, const Spend& spent);

}  // namespace allm
