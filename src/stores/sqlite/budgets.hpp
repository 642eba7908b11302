// Budgets in an SQLite file. The functions that change something are called in a transaction.
//
// The row of a budget has the sums of its reservations, so that a reservation costs the same however many there are.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "allm/stored_budget.hpp"

#include "stores/sqlite/connection.hpp"

namespace allm::sqlite {

Result<StoredBudget> create_budget(Connection& connection, const std::string& name, const BudgetTerms& terms);
Result<StoredBudget> load_budget(Connection& connection, const std::string& name);
Result<std::vector<StoredBudget>> list_budgets(Connection& connection, const std::string& after, std::size_t limit);
Result<StoredBudget> change_budget(Connection& connection, const std::string& name, const BudgetTerms& terms);
Status remove_budget(Connection& connection, const std::string& name);

Result<std::vector<StoredReservation>> list_reservations(Connection& connection, const std::string& name,
                                                         const ReservationQuery& query, std::size_t limit);
Result<ForgottenReservations> forget_reservations(Connection& connection, const std::string& name,
                                                  const ReservationQuery& query);
Result<Reserved> reserve(Connection& connection, const std::string& name, const NewReservation& reservation);
Status settle(Connection& connection, const std::string& name, ReservationId id, const Spend& actual);

}  // namespace allm::sqlite
