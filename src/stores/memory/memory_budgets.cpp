#include <utility>

#include "stores/budgets/budget_changes.hpp"
#include "stores/memory/memory_store.hpp"

namespace allm {
namespace {

StoreTime time_of_day() {
  return std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

}  // namespace

MemoryStore::BudgetRow* MemoryStore::find_budget(const std::string& name) {
  const auto found = budgets_.find(name);
  return found == budgets_.end() ? nullptr : &found->second;
}

bool MemoryStore::KeptReservation::matches(const ReservationQuery& query) const {
  if (forgotten || (query.holder && stored.holder != *query.holder)) return false;
  return !query.older_than || Clock::now() - made_at >= *query.older_than;
}

Result<StoredBudget> MemoryStore::create_budget(const std::string& name, const BudgetTerms& terms) {
  if (Status checked = check_budget_name(name); !checked) return std::unexpected(checked.error());
  const std::lock_guard lock(mutex_);
  if (find_budget(name) != nullptr) return std::unexpected(budget_exists(name));
  BudgetRow& row = budgets_[name];
  row.stored = {.name = name, .terms = terms, .created_at = time_of_day()};
  return row.stored;
}

Result<StoredBudget> MemoryStore::load_budget(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const BudgetRow* row = find_budget(name);
  if (row == nullptr) return std::unexpected(no_such_budget(name));
  return row->stored;
}

Result<std::vector<StoredBudget>> MemoryStore::list_budgets(const std::string& after, std::size_t limit) {
  const std::lock_guard lock(mutex_);
  std::vector<StoredBudget> list;
  for (auto next = budgets_.upper_bound(after); next != budgets_.end() && list.size() < limit; ++next) {
    list.push_back(next->second.stored);
  }
  return list;
}

Result<StoredBudget> MemoryStore::change_budget(const std::string& name, const BudgetTerms& terms) {
  const std::lock_guard lock(mutex_);
  BudgetRow* row = find_budget(name);
  if (row == nullptr) return std::unexpected(no_such_budget(name));
  row->stored.terms = terms;
  return row->stored;
}

Status MemoryStore::remove_budget(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (budgets_.erase(name) == 0) return std::unexpected(no_such_budget(name));
  return {};
}

Result<std::vector<StoredReservation>> MemoryStore::list_reservations(const std::string& name,
                                                                      const ReservationQuery& query,
                                                                      std::size_t limit) {
  const std::lock_guard lock(mutex_);
  const BudgetRow* row = find_budget(name);
  if (row == nullptr) return std::unexpected(no_such_budget(name));
  std::vector<StoredReservation> list;
  for (const KeptReservation& kept : row->reservations) {
    if (list.size() == limit) break;
    if (kept.matches(query)) list.push_back(kept.stored);
  }
  return list;
}

Result<ForgottenReservations> MemoryStore::forget_reservations(const std::string& name, const ReservationQuery& query) {
  const std::lock_guard lock(mutex_);
  BudgetRow* row = find_budget(name);
  if (row == nullptr) return std::unexpected(no_such_budget(name));
  const StoredBudget before = row->stored;
  for (KeptReservation& kept : row->reservations) {
    if (!kept.matches(query)) continue;
    kept.forgotten = true;
    forget_reservation(row->stored, kept.stored.amount);
  }
  return ForgottenReservations{.count = before.reservations - row->stored.reservations,
                               .amount = {.tokens = *before.reserved.tokens - *row->stored.reserved.tokens,
                                          .nanos = *before.reserved.nanos - *row->stored.reserved.nanos}};
}

Result<Reserved> MemoryStore::reserve_in_budget(const std::string& name, const NewReservation& reservation) {
  const std::lock_guard lock(mutex_);
  BudgetRow* row = find_budget(name);
  if (row == nullptr) return std::unexpected(no_such_budget(name));
  if (row->find(reservation.id) != row->reservations.end()) return reservation.id;
  if (auto refusal = refuse(row->stored, reservation.amount)) return *refusal;
  const Spend kept = kept_amount(reservation.amount);
  row->reservations.push_back(
      {.stored = {.id = reservation.id, .amount = kept, .holder = reservation.holder, .at = time_of_day()},
       .made_at = Clock::now()});
  add_reservation(row->stored, kept);
  return reservation.id;
}

Status MemoryStore::settle_in_budget(const std::string& name, ReservationId id, const Spend& actual) {
  const std::lock_guard lock(mutex_);
  BudgetRow* row = find_budget(name);
  if (row == nullptr) return std::unexpected(no_such_budget(name));
  const auto found = row->find(id);
  if (found == row->reservations.end()) return std::unexpected(unknown_reservation(name, id));
  if (!found->forgotten) forget_reservation(row->stored, found->stored.amount);
  add_spending(row->stored, found->stored.amount, actual);
  row->reservations.erase(found);
  return {};
}

}  // namespace allm
