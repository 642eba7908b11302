// Budgets: caps on tokens and costs that the model calls of many runs share and cannot exceed.
//
//   auto budget = std::make_shared<allm::Budget>(allm::BudgetOptions{.max_cost = 1.00});
//   allm::Engine engine({.adapter = adapter, .model = "gpt-4.1-mini", .defaults = {.max_tokens = 2'000, .budget =
//   budget},
//                        .catalogue = allm::builtin_catalogue()});
//
// Before a model call is sent, its worst case is reserved; after it, the reservation is settled with what the call has
// used. A call whose worst case does not fit into what is left is not sent. docs/run-control.md has the rules.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <variant>

#include "allm/error.hpp"

namespace allm {

// An amount of tokens and money. nullopt means that the amount is not known.
struct Spend {
  std::optional<std::int64_t> tokens = std::nullopt;  // input and output together
  // The cost in billionths of the currency of the model catalogue: integers, so that sums are exact.
  std::optional<std::int64_t> nanos = std::nullopt;

  bool operator==(const Spend&) const = default;
};

// Converts a cost to billionths and rounds up. A cost below zero is 0; a cost that is too large or not a number is the
// largest number.
std::int64_t cost_to_nanos(double cost);
double nanos_to_cost(std::int64_t nanos);

// Why a reservation was refused.
struct BudgetRefusal {
  enum class What : std::uint8_t { tokens, cost };
  What what = What::cost;
  // The next three are tokens or billionths of the currency, as `what` says.
  std::int64_t limit = 0;                             // of the whole budget
  std::int64_t left = 0;                              // below 0 if calls have used more than their worst case
  std::optional<std::int64_t> needed = std::nullopt;  // nullopt: the worst case is not known
  // Whether it is a limit of the run's own options (max_total_tokens, max_cost), not a budget of several runs. Runs set
  // it.
  bool of_run = false;

  bool operator==(const BudgetRefusal&) const = default;
};

using ReservationId = std::int64_t;
using Reserved = std::variant<ReservationId, BudgetRefusal>;

// The interface of a budget. Implement it to keep a budget elsewhere, for example in a table that several processes
// use. All functions are safe to call from any thread and must not throw. A reservation that is never settled, because
// its process died, must count as spent with its whole amount.
class BudgetLedger {
 public:
  virtual ~BudgetLedger() = default;

  // Reserves an amount, atomically, or refuses it: if it is more than what is left, or if it is not known and the
  // budget limits it. An error means that nothing is known about the budget; the model call then fails with it.
  virtual Result<Reserved> reserve(const Spend& worst_case) = 0;
  // Replaces a reservation by what was used, which may be more than was reserved. An amount that is not known counts as
  // it was reserved. Fails with ValidationError `invalid_option` if there is no such reservation; a second call for one
  // reservation changes nothing.
  virtual Status settle(ReservationId id, const Spend& actual) = 0;
  // Ends a reservation of which nothing was used.
  virtual Status release(ReservationId id) { return settle(id, {.tokens = 0, .nanos = 0}); }
  // What is neither spent nor reserved. nullopt: not limited.
  virtual Result<Spend> left() = 0;
  // Whether the functions above may block. Runs then call them on a pool thread of the runtime, else on the thread that
  // reads the run.
  virtual bool may_block() const { return true; }
};

struct BudgetOptions {
  std::optional<double> max_cost = std::nullopt;  // in the currency of the model catalogue
  std::optional<std::int64_t> max_tokens = std::nullopt;
  // Whether an amount that is limited and not known is refused. With false it is reserved as 0, so the budget may be
  // exceeded by calls of models without a known price or output limit.
  bool strict = true;
};

// A budget in memory, which the runs of one process share. It never blocks for long. Safe to use from any thread.
class Budget : public BudgetLedger {
 public:
  // A limit that is negative or not a number is 0.
  explicit Budget(const BudgetOptions& options);

  Result<Reserved> reserve(const Spend& worst_case) override;
  Status settle(ReservationId id, const Spend& actual) override;
  Result<Spend> left() override;
  bool may_block() const override { return false; }

  // What was settled so far. An amount is never nullopt here.
  Spend spent() const;

 private:
  // One of the two amounts.
  struct Account {
    std::optional<std::int64_t> limit;
    std::int64_t spent = 0;
    std::int64_t reserved = 0;
    std::int64_t left() const;
  };
  // nullopt: the amount fits.
  std::optional<BudgetRefusal> refuse(const Account& account, std::optional<std::int64_t> amount,
                                      BudgetRefusal::What what) const;

  const bool strict_;
  mutable std::mutex mutex_;
  Account tokens_;
  Account nanos_;
  ReservationId last_id_ = 0;
  std::unordered_map<ReservationId, Spend> reservations_;
};

}  // namespace allm
