// What all stores share about budgets: the changes of their sums, and their errors. Pure; safe to call from any thread.
#pragma once

#include <optional>
#include <string>

#include "allm/stored_budget.hpp"

namespace allm {

// Fails if create_budget must refuse the name.
Status check_budget_name(const std::string& name);
// Whether a budget can have this name. One that cannot is `not_found` without asking the database.
bool is_budget_name(const std::string& name);

Error no_such_budget(const std::string& name);
Error budget_exists(const std::string& name);
Error unknown_reservation(const std::string& name, ReservationId id);

// Why the budget refuses this amount; nullopt if it fits.
std::optional<BudgetRefusal> refuse(const StoredBudget& budget, const Spend& amount);
// The amount that a reservation keeps: nothing of it is unknown or negative.
Spend kept_amount(const Spend& amount);
// Counts a reservation of a kept amount.
void add_reservation(StoredBudget& budget, const Spend& kept);
// The reservation is not counted any more.
void forget_reservation(StoredBudget& budget, const Spend& kept);
// Counts what was used, or the kept amount if that is not known. Does not end the reservation.
void add_spending(StoredBudget& budget, const Spend& kept, const Spend& actual);

}  // namespace allm
