// Budgets in a store: caps on tokens and costs that the runs of any number of processes and machines share.
//
//   auto store = *allm::open_store("postgresql://…");
//   auto budget = allm::open_budget(store, "acme/2026-11", allm::BudgetOptions{.max_cost = 100.00});
//   options.defaults.budget = *budget;
//
// A reservation is committed to the store before its model call is sent. One that is never settled, because its process
// was killed or lost the store, counts as spent until an operator gives it back with forget_reservations.
// docs/run-control.md has the rules, docs/stores.md the tables.
//
// All functions block until the database has answered, and are safe to call from any thread. They fail with StoreError:
// with `not_found` if there is no budget of this name, and as those of allm/store.hpp.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "allm/budget.hpp"
#include "allm/store.hpp"

namespace allm {

// The limits of a budget as a store keeps them. nullopt: not limited.
struct BudgetTerms {
  Spend limit = {};    // none is negative
  bool strict = true;  // see BudgetOptions

  bool operator==(const BudgetTerms&) const = default;
};

// Costs are rounded down to billionths. A limit that is negative or not a number is 0.
BudgetTerms terms_of(const BudgetOptions& options);

struct StoredBudget {
  std::string name = {};
  BudgetTerms terms = {};
  Spend spent = {.tokens = 0, .nanos = 0};     // settled; never nullopt
  Spend reserved = {.tokens = 0, .nanos = 0};  // reserved and not settled, which counts as spent; never nullopt
  std::size_t reservations = 0;                // how many are not settled
  StoreTime created_at = {};

  // What is neither spent nor reserved, below 0 if calls used more than their worst case or the limit was lowered.
  // nullopt: not limited.
  Spend left() const;
};

struct NewReservation {
  ReservationId id = 0;  // chosen by the caller, greater than 0, and different from all others of the store
  Spend amount = {};
  std::string holder = {};  // who can settle it; open_budget writes "host:process id"
};

struct StoredReservation {
  ReservationId id = 0;
  Spend amount = {.tokens = 0, .nanos = 0};  // never nullopt
  std::string holder = {};
  StoreTime at = {};
};

// Reservations that fulfil all conditions.
struct ReservationQuery {
  std::optional<std::string> holder = std::nullopt;
  // Made at least this long ago, by the clock of the database.
  std::optional<std::chrono::milliseconds> older_than = std::nullopt;
};

struct ForgottenReservations {
  std::size_t count = 0;
  Spend amount = {.tokens = 0, .nanos = 0};
};

// The budgets of a store. Programs call open_budget for their runs; the other functions are for operators.
class BudgetStore {
 public:
  virtual ~BudgetStore() = default;

  // --- For operators ---
  // A name has 1 to 200 bytes of valid UTF-8 without control characters; any other is ValidationError `invalid_option`.
  // Fails with `already_exists`.
  virtual Result<StoredBudget> create_budget(const std::string& name, const BudgetTerms& terms) = 0;
  virtual Result<StoredBudget> load_budget(const std::string& name) = 0;
  // At most `limit` budgets whose names come after `after`, ordered by the bytes of their names.
  virtual Result<std::vector<StoredBudget>> list_budgets(const std::string& after = {}, std::size_t limit = 1'000) = 0;
  // Replaces the limits; what is spent and reserved stays. If the new limit is lower than that, the next reservations
  // are refused. Setting the limits to 0 stops all runs that use the budget before their next model call.
  virtual Result<StoredBudget> change_budget(const std::string& name, const BudgetTerms& terms) = 0;
  // Runs that use the budget fail with `not_found` at their next model call. A budget that is created with this name
  // later knows nothing of the reservations of this one.
  virtual Status remove_budget(const std::string& name) = 0;
  // The reservations that are not settled, the oldest first.
  virtual Result<std::vector<StoredReservation>> list_reservations(const std::string& name,
                                                                   const ReservationQuery& query = {},
                                                                   std::size_t limit = 1'000) = 0;
  // Gives back what was reserved: it counts as not spent. Only for reservations whose process has died, and whose calls
  // are known not to be paid or may be ignored. If such a process does live and settles, that is counted, so that the
  // budget may then be exceeded.
  virtual Result<ForgottenReservations> forget_reservations(const std::string& name, const ReservationQuery& query) = 0;

  // --- For runs ---
  // As BudgetLedger::reserve. Committed to disk when it returns. An id that is reserved already is not counted again,
  // so the call can be repeated.
  virtual Result<Reserved> reserve_in_budget(const std::string& name, const NewReservation& reservation) = 0;
  // As BudgetLedger::settle. If a connection was lost, the store repeats it without counting twice.
  virtual Status settle_in_budget(const std::string& name, ReservationId id, const Spend& actual) = 0;
};

// Opens the budget `name` for runs; any number of ledgers may be open for one budget. With `options`, the budget is
// created if it does not exist; if it exists with other limits, that is StoreError `conflict`: change_budget changes
// them. Without `options`, it must exist.
//
// When the store cannot be reached, reserve() fails with `unavailable` and the model call is not sent. settle() fails,
// too, and the ledger repeats it after its next call that succeeds; until then the worst case stays reserved.
Result<std::shared_ptr<BudgetLedger>> open_budget(std::shared_ptr<BudgetStore> store, const std::string& name,
                                                  const std::optional<BudgetOptions>& options = std::nullopt);

}  // namespace allm
