#include "stores/sqlite/budgets.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "stores/budgets/budget_changes.hpp"
#include "stores/sqlite/clock.hpp"

namespace allm::sqlite {
namespace {

// Budgets from the name ?1 on (?2 true), or after it, at most ?3.
constexpr std::string_view kFindBudgets =
    "SELECT key, name, strict, token_limit, nano_limit, tokens_spent, nanos_spent, tokens_reserved, nanos_reserved,"
    " reservations, created_at FROM budgets WHERE name >= ?1 AND (?2 OR name > ?1) ORDER BY name LIMIT ?3";

constexpr std::string_view kSaveBudget =
    "UPDATE budgets SET strict = ?, token_limit = ?, nano_limit = ?, tokens_spent = ?, nanos_spent = ?,"
    " tokens_reserved = ?, nanos_reserved = ?, reservations = ? WHERE key = ?";

// ?2: NULL for every holder; ?3: made at this time or before.
constexpr std::string_view kFindReservations =
    "SELECT id, tokens, nanos, holder, at FROM budget_reservations WHERE budget = ?1 AND NOT forgotten"
    " AND (?2 OR holder = ?3) AND at <= ?4 ORDER BY at, id LIMIT ?5";

struct BudgetRow {
  std::int64_t key = 0;
  StoredBudget stored = {};
};

std::optional<std::int64_t> optional_integer_in(const Statement& query, int column) {
  return query.is_null(column) ? std::nullopt : std::optional(query.integer(column));
}

std::int64_t row_limit(std::size_t limit) {
  return static_cast<std::int64_t>(std::min<std::size_t>(limit, std::numeric_limits<std::int64_t>::max()));
}

BudgetRow budget_in(const Statement& query) {
  return {
      .key = query.integer(0),
      .stored = {.name = query.text(1),
                 .terms = {.limit = {.tokens = optional_integer_in(query, 3), .nanos = optional_integer_in(query, 4)},
                           .strict = query.integer(2) != 0},
                 .spent = {.tokens = query.integer(5), .nanos = query.integer(6)},
                 .reserved = {.tokens = query.integer(7), .nanos = query.integer(8)},
                 .reservations = static_cast<std::size_t>(query.integer(9)),
                 .created_at = store_time(query.integer(10))}};
}

Result<BudgetRow> find_budget(Connection& connection, const std::string& name) {
  Statement query = connection.run(kFindBudgets, name, std::int64_t{1}, std::int64_t{1});
  const Result<bool> row = query.step();
  if (!row) return std::unexpected(row.error());
  if (!*row || query.view(1) != name) return std::unexpected(no_such_budget(name));
  return budget_in(query);
}

Status save_budget(Connection& connection, const BudgetRow& row) {
  const StoredBudget& stored = row.stored;
  return connection.execute(kSaveBudget, static_cast<std::int64_t>(stored.terms.strict), stored.terms.limit.tokens,
                            stored.terms.limit.nanos, stored.spent.tokens, stored.spent.nanos, stored.reserved.tokens,
                            stored.reserved.nanos, static_cast<std::int64_t>(stored.reservations), row.key);
}

Result<std::vector<StoredReservation>> find_reservations(Connection& connection, std::int64_t budget,
                                                         const ReservationQuery& query, std::size_t limit) {
  const std::int64_t until =
      query.older_than ? now_ms() - (later(0, *query.older_than)) : std::numeric_limits<std::int64_t>::max();
  const std::string holder = query.holder.value_or("");
  Statement found = connection.run(kFindReservations, budget, static_cast<std::int64_t>(!query.holder), holder, until,
                                   row_limit(limit));
  std::vector<StoredReservation> list;
  while (true) {
    const Result<bool> row = found.step();
    if (!row) return std::unexpected(row.error());
    if (!*row) return list;
    list.push_back({.id = found.integer(0),
                    .amount = {.tokens = found.integer(1), .nanos = found.integer(2)},
                    .holder = found.text(3),
                    .at = store_time(found.integer(4))});
  }
}

struct ReservationRow {
  Spend amount = {};
  bool forgotten = false;
};

Result<std::optional<ReservationRow>> find_reservation(Connection& connection, std::int64_t budget, ReservationId id) {
  Statement query = connection.run(
      "SELECT tokens, nanos, forgotten FROM budget_reservations WHERE id = ? AND budget = ?", id, budget);
  const Result<bool> row = query.step();
  if (!row) return std::unexpected(row.error());
  if (!*row) return std::nullopt;
  return ReservationRow{.amount = {.tokens = query.integer(0), .nanos = query.integer(1)},
                        .forgotten = query.integer(2) != 0};
}

}  // namespace

Result<StoredBudget> create_budget(Connection& connection, const std::string& name, const BudgetTerms& terms) {
  if (Status checked = check_budget_name(name); !checked) return std::unexpected(checked.error());
  if (Status made = connection.execute("INSERT INTO budgets (name, strict, token_limit, nano_limit, created_at)"
                                       " VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                                       name, static_cast<std::int64_t>(terms.strict), terms.limit.tokens,
                                       terms.limit.nanos, now_ms());
      !made) {
    return std::unexpected(made.error());
  }
  if (connection.changes() == 0) return std::unexpected(budget_exists(name));
  return load_budget(connection, name);
}

Result<StoredBudget> load_budget(Connection& connection, const std::string& name) {
  Result<BudgetRow> row = find_budget(connection, name);
  if (!row) return std::unexpected(row.error());
  return std::move(row->stored);
}

Result<std::vector<StoredBudget>> list_budgets(Connection& connection, const std::string& after, std::size_t limit) {
  Statement query = connection.run(kFindBudgets, after, std::int64_t{0}, row_limit(limit));
  std::vector<StoredBudget> list;
  while (true) {
    const Result<bool> row = query.step();
    if (!row) return std::unexpected(row.error());
    if (!*row) return list;
    list.push_back(budget_in(query).stored);
  }
}

Result<StoredBudget> change_budget(Connection& connection, const std::string& name, const BudgetTerms& terms) {
  Result<BudgetRow> row = find_budget(connection, name);
  if (!row) return std::unexpected(row.error());
  row->stored.terms = terms;
  if (Status saved = save_budget(connection, *row); !saved) return std::unexpected(saved.error());
  return std::move(row->stored);
}

Status remove_budget(Connection& connection, const std::string& name) {
  if (Status done = connection.execute("DELETE FROM budgets WHERE name = ?", name); !done) return done;
  if (connection.changes() == 0) return std::unexpected(no_such_budget(name));
  return {};
}

Result<std::vector<StoredReservation>> list_reservations(Connection& connection, const std::string& name,
                                                         const ReservationQuery& query, std::size_t limit) {
  const Result<BudgetRow> row = find_budget(connection, name);
  if (!row) return std::unexpected(row.error());
  return find_reservations(connection, row->key, query, limit);
}

Result<ForgottenReservations> forget_reservations(Connection& connection, const std::string& name,
                                                  const ReservationQuery& query) {
  Result<BudgetRow> row = find_budget(connection, name);
  if (!row) return std::unexpected(row.error());
  const auto found = find_reservations(connection, row->key, query, std::numeric_limits<std::size_t>::max());
  if (!found) return std::unexpected(found.error());
  const Spend before = row->stored.reserved;
  for (const StoredReservation& reservation : *found) {
    forget_reservation(row->stored, reservation.amount);
    const Status marked =
        connection.execute("UPDATE budget_reservations SET forgotten = 1 WHERE id = ?", reservation.id);
    if (!marked) return std::unexpected(marked.error());
  }
  if (Status saved = save_budget(connection, *row); !saved) return std::unexpected(saved.error());
  return ForgottenReservations{.count = found->size(),
                               .amount = {.tokens = *before.tokens - *row->stored.reserved.tokens,
                                          .nanos = *before.nanos - *row->stored.reserved.nanos}};
}

Result<Reserved> reserve(Connection& connection, const std::string& name, const NewReservation& reservation) {
  Result<BudgetRow> row = find_budget(connection, name);
  if (!row) return std::unexpected(row.error());
  const auto made = find_reservation(connection, row->key, reservation.id);
  if (!made) return std::unexpected(made.error());
  if (*made) return reservation.id;
  if (auto refusal = refuse(row->stored, reservation.amount)) return *refusal;
  const Spend kept = kept_amount(reservation.amount);
  add_reservation(row->stored, kept);
  if (Status added = connection.execute(
          "INSERT INTO budget_reservations (id, budget, tokens, nanos, holder, at) VALUES (?, ?, ?, ?, ?, ?)",
          reservation.id, row->key, kept.tokens, kept.nanos, reservation.holder, now_ms());
      !added) {
    return std::unexpected(added.error());
  }
  if (Status saved = save_budget(connection, *row); !saved) return std::unexpected(saved.error());
  return reservation.id;
}

Status settle(Connection& connection, const std::string& name, ReservationId id, const Spend& actual) {
  Result<BudgetRow> row = find_budget(connection, name);
  if (!row) return std::unexpected(row.error());
  const auto made = find_reservation(connection, row->key, id);
  if (!made) return std::unexpected(made.error());
  if (!*made) return std::unexpected(unknown_reservation(name, id));
  if (!(*made)->forgotten) forget_reservation(row->stored, (*made)->amount);
  add_spending(row->stored, (*made)->amount, actual);
  if (Status removed = connection.execute("DELETE FROM budget_reservations WHERE id = ?", id); !removed) return removed;
  return save_budget(connection, *row);
}

}  // namespace allm::sqlite
