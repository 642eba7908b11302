#include "cli/budgets_command.hpp"

#include <chrono>
#include <vector>

#include <fmt/format.h>

namespace allm::cli {
namespace {

Json tokens_json(std::optional<std::int64_t> tokens) { return tokens ? Json(*tokens) : Json(nullptr); }
Json cost_json(std::optional<std::int64_t> nanos) { return nanos ? Json(nanos_to_cost(*nanos)) : Json(nullptr); }
Json amount_json(const Spend& amount) {
  return {{"cost", cost_json(amount.nanos)}, {"tokens", tokens_json(amount.tokens)}};
}

Json budget_json(const StoredBudget& budget) {
  return {{"name", budget.name},
          {"limit", amount_json(budget.terms.limit)},
          {"strict", budget.terms.strict},
          {"spent", amount_json(budget.spent)},
          {"reserved", amount_json(budget.reserved)},
          {"reservations", budget.reservations},
          {"left", amount_json(budget.left())},
          {"created_at", budget.created_at.time_since_epoch().count()}};
}

Json reservation_json(const StoredReservation& reservation) {
  return {{"id", reservation.id},
          {"amount", amount_json(reservation.amount)},
          {"holder", reservation.holder},
          {"at", reservation.at.time_since_epoch().count()}};
}

// "0.25 and 400 tokens"; what is not known is "-".
std::string amount_text(const Spend& amount) {
  return fmt::format("{} and {} tokens", amount.nanos ? fmt::format("{}", nanos_to_cost(*amount.nanos)) : "-",
                     amount.tokens ? fmt::format("{}", *amount.tokens) : "-");
}

std::string budget_text(const StoredBudget& budget) {
  return fmt::format("{}  limit {}, spent {}, reserved {} in {} calls, left {}", printable(budget.name),
                     amount_text(budget.terms.limit), amount_text(budget.spent), amount_text(budget.reserved),
                     budget.reservations, amount_text(budget.left()));
}

void write_line(const Terminal& out, const Json& json) { out.write(write_json(json).value_or("{}") + "\n"); }

int write_budget(const Result<StoredBudget>& budget, const BudgetArguments& arguments, const Terminal& out,
                 const Terminal& errors) {
  if (!budget) return fail_budgets(errors, budget.error().message());
  if (arguments.json) {
    write_line(out, budget_json(*budget));
  } else {
    out.write(budget_text(*budget) + "\n");
  }
  return 0;
}

int list(Store& store, const BudgetArguments& arguments, const Terminal& out, const Terminal& errors) {
  std::string after;
  while (true) {
    const auto page = store.list_budgets(after);
    if (!page) return fail_budgets(errors, page.error().message());
    if (page->empty()) return 0;
    for (const StoredBudget& budget : *page) write_budget(budget, arguments, out, errors);
    after = page->back().name;
  }
}

int show(Store& store, const BudgetArguments& arguments, const Terminal& out, const Terminal& errors) {
  const auto budget = store.load_budget(arguments.name);
  if (!budget) return fail_budgets(errors, budget.error().message());
  const auto reservations = store.list_reservations(arguments.name);
  if (!reservations) return fail_budgets(errors, reservations.error().message());
  if (arguments.json) {
    Json json = budget_json(*budget);
    json["open"] = Json::array();
    for (const StoredReservation& reservation : *reservations) json["open"].push_back(reservation_json(reservation));
    write_line(out, json);
    return 0;
  }
  write_budget(budget, arguments, out, errors);
  const auto now = std::chrono::system_clock::now();
  for (const StoredReservation& reservation : *reservations) {
    const auto age = std::chrono::duration_cast<std::chrono::seconds>(now - reservation.at);
    out.write(fmt::format("  {} reserved by {}, {} s ago\n", amount_text(reservation.amount),
                          printable(reservation.holder), age.count()));
  }
  return 0;
}

bool is_lower(std::optional<std::int64_t> wanted, std::optional<std::int64_t> present) {
  return wanted && (!present || *wanted < *present);
}

int raise_limits(Store& store, const BudgetArguments& arguments, const Terminal& out, const Terminal& errors) {
  const auto budget = store.load_budget(arguments.name);
  if (!budget) return fail_budgets(errors, budget.error().message());
  const Spend wanted = terms_of({.max_cost = arguments.max_cost, .max_tokens = arguments.max_tokens}).limit;
  BudgetTerms terms = budget->terms;
  if (!arguments.lower && (is_lower(wanted.nanos, terms.limit.nanos) || is_lower(wanted.tokens, terms.limit.tokens))) {
    return fail_budgets(errors, fmt::format("the limit of budget '{}' is {}; --lower sets a lower one", arguments.name,
                                            amount_text(terms.limit)));
  }
  if (wanted.nanos) terms.limit.nanos = wanted.nanos;
  if (wanted.tokens) terms.limit.tokens = wanted.tokens;
  return write_budget(store.change_budget(arguments.name, terms), arguments, out, errors);
}

int forget(Store& store, const BudgetArguments& arguments, const Terminal& out, const Terminal& errors) {
  ReservationQuery query{.holder = arguments.holder};
  if (arguments.older_than_seconds) {
    query.older_than = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::duration<double>(*arguments.older_than_seconds));
  }
  const auto forgotten = store.forget_reservations(arguments.name, query);
  if (!forgotten) return fail_budgets(errors, forgotten.error().message());
  if (arguments.json) {
    write_line(out, {{"forgotten", forgotten->count}, {"amount", amount_json(forgotten->amount)}});
  } else {
    out.write(fmt::format("gave back {} of {} reservations\n", amount_text(forgotten->amount), forgotten->count));
  }
  return 0;
}

}  // namespace

int fail_budgets(const Terminal& errors, const std::string& message) {
  errors.write(errors.paint(Style::red, "allm budgets: ") + printable(message) + "\n");
  return 1;
}

int budgets_command(Store& store, const BudgetArguments& arguments, const Terminal& out, const Terminal& errors) {
  switch (arguments.what) {
    case BudgetArguments::What::list:
      return list(store, arguments, out, errors);
    case BudgetArguments::What::show:
      return show(store, arguments, out, errors);
    case BudgetArguments::What::create:
      return write_budget(store.create_budget(arguments.name, terms_of({.max_cost = arguments.max_cost,
                                                                        .max_tokens = arguments.max_tokens,
                                                                        .strict = !arguments.lenient})),
                          arguments, out, errors);
    case BudgetArguments::What::raise:
      return raise_limits(store, arguments, out, errors);
    case BudgetArguments::What::forget:
      return forget(store, arguments, out, errors);
    case BudgetArguments::What::remove:
      break;
  }
  if (const Status removed = store.remove_budget(arguments.name); !removed) {
    return fail_budgets(errors, removed.error().message());
  }
  return 0;
}

}  // namespace allm::cli
