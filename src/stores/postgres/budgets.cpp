// Budgets.
#include <algorithm>
#include <limits>

#include "engine/budget_rules.hpp"
#include "stores/budgets/budget_changes.hpp"
#include "stores/postgres/ids.hpp"
#include "stores/postgres/postgres_store.hpp"

namespace allm {
namespace {

using postgres::Arguments;
using postgres::Rows;

constexpr const char* kColumns =
    "name, strict, token_limit, nano_limit, tokens_spent, nanos_spent, tokens_reserved, nanos_reserved, reservations,"
    " allm.milliseconds(created_at)";

constexpr const char* kReservations =
    "SELECT b.name, r.id, r.tokens, r.nanos, r.holder, allm.milliseconds(r.at) FROM allm.budgets b"
    " LEFT JOIN allm.budget_reservations r ON r.budget = b.name AND r.state = 'open'"
    "  AND ($2::text IS NULL OR r.holder = $2)"
    "  AND ($3::bigint IS NULL OR r.at <= allm.later(clock_timestamp(), -$3::bigint))"
    " WHERE b.name = $1 ORDER BY r.at, r.id LIMIT $4::bigint";

std::optional<std::int64_t> optional_number(const Rows& rows, int row, int column) {
  return rows.is_null(row, column) ? std::nullopt : std::optional(rows.number(row, column));
}

StoredBudget budget_in(const Rows& rows, int row) {
  return {.name = std::string(rows.text(row, 0)),
          .terms = {.limit = {.tokens = optional_number(rows, row, 2), .nanos = optional_number(rows, row, 3)},
                    .strict = rows.flag(row, 1)},
          .spent = {.tokens = rows.number(row, 4), .nanos = rows.number(row, 5)},
          .reserved = {.tokens = rows.number(row, 6), .nanos = rows.number(row, 7)},
          .reservations = static_cast<std::size_t>(rows.number(row, 8)),
          .created_at = rows.time(row, 9)};
}

std::int64_t row_limit(std::size_t limit) {
  return static_cast<std::int64_t>(std::min<std::size_t>(limit, std::numeric_limits<std::int64_t>::max()));
}

void add_terms(Arguments& arguments, const BudgetTerms& terms) {
  arguments.flag(terms.strict).number(terms.limit.tokens).number(terms.limit.nanos);
}

// Null for the conditions that the query does not have. No holder has a text that PostgreSQL does not know.
void add_conditions(Arguments& arguments, const ReservationQuery& query) {
  arguments.text(query.holder);
  if (query.older_than) {
    arguments.duration(*query.older_than);
  } else {
    arguments.number(std::nullopt);
  }
}

bool can_match(const ReservationQuery& query) { return !query.holder || postgres::is_text(*query.holder); }

BudgetRefusal refusal_in(const Rows& rows, const Spend& amount) {
  const bool of_tokens = rows.text(0, 0) == "tokens";
  const std::optional<std::int64_t>& needed = of_tokens ? amount.tokens : amount.nanos;
  BudgetRefusal refusal{.what = of_tokens ? BudgetRefusal::What::tokens : BudgetRefusal::What::cost,
                        .limit = rows.number(0, 1),
                        .left = rows.number(0, 2)};
  if (needed || !rows.flag(0, 3)) refusal.needed = known_or_zero(needed);
  return refusal;
}

}  // namespace

Result<StoredBudget> PostgresStore::create_budget(const std::string& name, const BudgetTerms& terms) {
  if (Status checked = check_budget_name(name); !checked) return std::unexpected(checked.error());
  Arguments arguments;
  arguments.text(std::string_view(name));
  add_terms(arguments, terms);
  const auto rows = pool_.run_once(
      std::string("INSERT INTO allm.budgets (name, strict, token_limit, nano_limit) VALUES ($1, $2, $3, $4)"
                  " ON CONFLICT (name) DO NOTHING RETURNING ") +
          kColumns,
      arguments);
  if (!rows) return std::unexpected(rows.error());
  if (rows->count() == 0) return std::unexpected(budget_exists(name));
  return budget_in(*rows, 0);
}

Result<StoredBudget> PostgresStore::load_budget(const std::string& name) {
  if (!is_budget_name(name)) return std::unexpected(no_such_budget(name));
  const auto rows = pool_.run_repeatable(std::string("SELECT ") + kColumns + " FROM allm.budgets WHERE name = $1",
                                         Arguments().text(std::string_view(name)));
  if (!rows) return std::unexpected(rows.error());
  if (rows->count() == 0) return std::unexpected(no_such_budget(name));
  return budget_in(*rows, 0);
}

Result<std::vector<StoredBudget>> PostgresStore::list_budgets(const std::string& after, std::size_t limit) {
  if (!postgres::is_text(after)) return std::vector<StoredBudget>{};
  const auto rows = pool_.run_repeatable(
      std::string("SELECT ") + kColumns + " FROM allm.budgets WHERE name > $1 ORDER BY name LIMIT $2::bigint",
      Arguments().text(std::string_view(after)).number(row_limit(limit)));
  if (!rows) return std::unexpected(rows.error());
  std::vector<StoredBudget> list;
  list.reserve(static_cast<std::size_t>(rows->count()));
  for (int row = 0; row < rows->count(); ++row) list.push_back(budget_in(*rows, row));
  return list;
}

Result<StoredBudget> PostgresStore::change_budget(const std::string& name, const BudgetTerms& terms) {
  if (!is_budget_name(name)) return std::unexpected(no_such_budget(name));
  Arguments arguments;
  arguments.text(std::string_view(name));
  add_terms(arguments, terms);
  const auto rows = pool_.run_repeatable(
      std::string("UPDATE allm.budgets SET strict = $2, token_limit = $3, nano_limit = $4 WHERE name = $1 RETURNING ") +
          kColumns,
      arguments);
  if (!rows) return std::unexpected(rows.error());
  if (rows->count() == 0) return std::unexpected(no_such_budget(name));
  return budget_in(*rows, 0);
}

Status PostgresStore::remove_budget(const std::string& name) {
  if (!is_budget_name(name)) return std::unexpected(no_such_budget(name));
  const auto rows =
      pool_.run_once("DELETE FROM allm.budgets WHERE name = $1 RETURNING 1", Arguments().text(std::string_view(name)));
  if (!rows) return std::unexpected(rows.error());
  if (rows->count() == 0) return std::unexpected(no_such_budget(name));
  return {};
}

Result<std::vector<StoredReservation>> PostgresStore::list_reservations(const std::string& name,
                                                                        const ReservationQuery& query,
                                                                        std::size_t limit) {
  if (!is_budget_name(name)) return std::unexpected(no_such_budget(name));
  if (!can_match(query)) return std::vector<StoredReservation>{};
  Arguments arguments;
  arguments.text(std::string_view(name));
  add_conditions(arguments, query);
  arguments.number(row_limit(std::max<std::size_t>(limit, 1)));  // the row that says that the budget exists
  const auto rows = pool_.run_repeatable(kReservations, arguments);
  if (!rows) return std::unexpected(rows.error());
  if (rows->count() == 0) return std::unexpected(no_such_budget(name));
  std::vector<StoredReservation> list;
  for (int row = 0; row < rows->count() && list.size() < limit; ++row) {
    if (rows->is_null(row, 1)) break;
    list.push_back({.id = rows->number(row, 1),
                    .amount = {.tokens = rows->number(row, 2), .nanos = rows->number(row, 3)},
                    .holder = std::string(rows->text(row, 4)),
                    .at = rows->time(row, 5)});
  }
  return list;
}

// Not repeated when the connection is lost, because the result would not name what was forgotten the first time.
Result<ForgottenReservations> PostgresStore::forget_reservations(const std::string& name,
                                                                 const ReservationQuery& query) {
  if (!is_budget_name(name)) return std::unexpected(no_such_budget(name));
  if (!can_match(query)) return ForgottenReservations{};
  Arguments arguments;
  arguments.text(std::string_view(name));
  add_conditions(arguments, query);
  const auto rows = pool_.run_once("SELECT * FROM allm.forget_reservations($1, $2, $3)", arguments);
  if (!rows) return std::unexpected(rows.error());
  if (rows->is_null(0, 0)) return std::unexpected(no_such_budget(name));
  return ForgottenReservations{.count = static_cast<std::size_t>(rows->number(0, 0)),
                               .amount = {.tokens = rows->number(0, 1), .nanos = rows->number(0, 2)}};
}

Result<Reserved> PostgresStore::reserve_in_budget(const std::string& name, const NewReservation& reservation) {
  if (!is_budget_name(name)) return std::unexpected(no_such_budget(name));
  const auto arguments_of = [&](bool again) {
    Arguments arguments;
    arguments.text(std::string_view(name)).number(reservation.id);
    arguments.number(reservation.amount.tokens).number(reservation.amount.nanos);
    arguments.text(std::string_view(reservation.holder)).flag(again);
    return arguments;
  };
  const Arguments again = arguments_of(true);
  const auto rows =
      pool_.run("SELECT * FROM allm.reserve_in_budget($1, $2, $3, $4, $5, $6)", arguments_of(false), &again);
  if (!rows) return std::unexpected(rows.error());
  const std::string_view outcome = rows->text(0, 0);
  if (outcome == "not_found") return std::unexpected(no_such_budget(name));
  if (outcome == "done") return reservation.id;
  return refusal_in(*rows, reservation.amount);
}

Status PostgresStore::settle_in_budget(const std::string& name, ReservationId id, const Spend& actual) {
  if (!is_budget_name(name)) return std::unexpected(no_such_budget(name));
  const auto arguments_of = [&](bool again) {
    Arguments arguments;
    arguments.text(std::string_view(name)).number(id).number(actual.tokens).number(actual.nanos).flag(again);
    return arguments;
  };
  const Arguments again = arguments_of(true);
  const auto rows = pool_.run("SELECT allm.settle_in_budget($1, $2, $3, $4, $5)", arguments_of(false), &again);
  if (!rows) return std::unexpected(rows.error());
  if (rows->text(0, 0) == "not_found") return std::unexpected(no_such_budget(name));
  if (rows->text(0, 0) == "unknown") return std::unexpected(unknown_reservation(name, id));
  return {};
}

}  // namespace allm
