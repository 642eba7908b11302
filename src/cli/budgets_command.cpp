#include "cli/budgets_command.hpp"

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/user_store.hpp"

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

// Adds what all commands of `allm budgets` have. `arguments` is the owner of what the options point into.
CommandSpec on_budgets(CommandSpec spec, std::shared_ptr<BudgetArguments> arguments) {
  auto url = std::make_shared<std::string>();
  spec.options.push_back(store_option(*url));
  spec.options.push_back({.names = "--json", .help = "Print JSON lines.", .target = &arguments->json});
  spec.run = [url, arguments = std::move(arguments)](const CommandContext& context) {
    const auto store = open_user_store(*url);
    if (!store) return fail_budgets(context.errors, store.error().message());
    return budgets_command(**store, *arguments, context.out, context.errors);
  };
  spec.exit_codes = {{0, "Success."}, {1, "The store refused an operation."}, {2, "The command line is wrong."}};
  return spec;
}

std::shared_ptr<BudgetArguments> arguments_of(BudgetArguments::What what) {
  return std::make_shared<BudgetArguments>(BudgetArguments{.what = what});
}

OptionSpec name_argument(BudgetArguments& arguments) {
  return {.names = "name", .value = "NAME", .help = "The budget.", .target = &arguments.name, .required = true};
}

// The name and the limits. At least one limit must be given.
void add_limits(CommandSpec& spec, const std::shared_ptr<BudgetArguments>& arguments) {
  spec.options.push_back(name_argument(*arguments));
  spec.options.push_back({.names = "--max-cost",
                          .value = "COST",
                          .help = "The most that all runs together may cost.",
                          .target = &arguments->max_cost,
                          .minimum = 0});
  spec.options.push_back({.names = "--max-tokens",
                          .value = "N",
                          .help = "The most tokens that all runs together may use.",
                          .target = &arguments->max_tokens,
                          .minimum = 0});
  spec.check = [arguments]() -> std::optional<std::string> {
    if (arguments->max_cost || arguments->max_tokens) return std::nullopt;
    return "give --max-cost, --max-tokens or both";
  };
}

CommandSpec plain_budget_spec(BudgetArguments::What what, const char* name, const char* summary) {
  auto arguments = arguments_of(what);
  CommandSpec spec{.name = name, .summary = summary};
  if (what != BudgetArguments::What::list) spec.options.push_back(name_argument(*arguments));
  return on_budgets(std::move(spec), std::move(arguments));
}

CommandSpec create_budget_spec() {
  auto arguments = arguments_of(BudgetArguments::What::create);
  CommandSpec spec{.name = "create", .summary = "Create a budget"};
  add_limits(spec, arguments);
  spec.options.push_back(
      {.names = "--lenient", .help = "Also allow calls whose worst case is not known.", .target = &arguments->lenient});
  return on_budgets(std::move(spec), std::move(arguments));
}

CommandSpec raise_budget_spec() {
  auto arguments = arguments_of(BudgetArguments::What::raise);
  CommandSpec spec{.name = "raise", .summary = "Raise the limits of a budget"};
  add_limits(spec, arguments);
  spec.options.push_back({.names = "--lower",
                          .help = "Allow lower limits; 0 stops all runs before their next model call.",
                          .target = &arguments->lower});
  return on_budgets(std::move(spec), std::move(arguments));
}

CommandSpec forget_spec() {
  auto arguments = arguments_of(BudgetArguments::What::forget);
  CommandSpec spec{.name = "forget",
                   .summary = "Give back what dead processes have reserved",
                   .description = "Needs at least one of the two conditions. The provider may have charged the calls.",
                   .options = {name_argument(*arguments)}};
  spec.options.push_back({.names = "--holder",
                          .value = "HOST:PID",
                          .help = "Only reservations of this process, as show names it.",
                          .target = &arguments->holder});
  spec.options.push_back({.names = "--older-than",
                          .value = "SECONDS",
                          .help = "Only reservations made this long ago.",
                          .target = &arguments->older_than_seconds,
                          .minimum = 0});
  spec.check = [arguments]() -> std::optional<std::string> {
    if (arguments->holder || arguments->older_than_seconds) return std::nullopt;
    return "give --holder, --older-than or both";
  };
  return on_budgets(std::move(spec), std::move(arguments));
}

}  // namespace

CommandSpec budgets_spec() {
  using What = BudgetArguments::What;
  CommandSpec spec{.name = "budgets",
                   .summary = "Caps on costs and tokens that all runs with a store share",
                   .description =
                       "allm worker --budget NAME lets all its runs share a budget. What model calls have "
                       "reserved counts as spent until they have ended.",
                   .examples = {{"allm budgets create team --max-cost 5", "Create a budget of 5 dollars."},
                                {"allm budgets show team", "What is spent, and which calls have not ended?"}}};
  spec.commands.push_back(plain_budget_spec(
      What::list, "list", "List all budgets with their limits, and what is spent, reserved and left"));
  spec.commands.push_back(
      plain_budget_spec(What::show, "show", "Show a budget with the reservations of model calls that have not ended"));
  spec.commands.push_back(create_budget_spec());
  spec.commands.push_back(raise_budget_spec());
  spec.commands.push_back(forget_spec());
  spec.commands.push_back(
      plain_budget_spec(What::remove, "delete", "Delete a budget; runs that use it fail at their next model call"));
  return spec;
}

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
