// Rules of budgets.
#include <atomic>
#include <cstdint>
#include <limits>
#include <string_view>
#include <thread>
#include <variant>

#include "testing/conformance/store_check.hpp"

namespace allm::conformance {
namespace {

// A budget that is removed after the check, and reservations with ids of its own.
class BudgetRule {
 public:
  BudgetRule(StoreCheck& check, const BudgetTerms& terms, const std::string& name = "budget")
      : check_(check), name_(check.own(name)) {
    [[maybe_unused]] const Status removed = check.a().remove_budget(name_);  // of a check that was interrupted
    check.value(check.a().create_budget(name_, terms), "create_budget");
  }
  BudgetRule(const BudgetRule&) = delete;
  BudgetRule& operator=(const BudgetRule&) = delete;
  ~BudgetRule() { [[maybe_unused]] const Status removed = check_.a().remove_budget(name_); }

  const std::string& name() const { return name_; }
  // As the other process sees it.
  StoredBudget load() { return check_.value(check_.b().load_budget(name_), "load_budget"); }

  ReservationId reserve(const Spend& amount, const std::string& holder = "host:1") {
    const ReservationId id = next_id();
    const Reserved reserved = make(id, amount, holder);
    check_.expect(std::holds_alternative<ReservationId>(reserved), "a reservation that fits is refused");
    check_.expect(!std::holds_alternative<ReservationId>(reserved) || std::get<ReservationId>(reserved) == id,
                  "a reservation gets another id than that of the caller");
    return id;
  }
  Reserved make(ReservationId id, const Spend& amount, const std::string& holder = "host:1") {
    return check_.value(check_.a().reserve_in_budget(name_, {.id = id, .amount = amount, .holder = holder}),
                        "reserve_in_budget");
  }
  void expect_refusal(const Spend& amount, const BudgetRefusal& expected, const std::string& what) {
    const Reserved reserved = make(next_id(), amount);
    const auto* refusal = std::get_if<BudgetRefusal>(&reserved);
    check_.expect(refusal != nullptr, what + " is not refused");
    check_.expect(refusal == nullptr || *refusal == expected, what + " is refused with wrong numbers");
  }
  void settle(ReservationId id, const Spend& actual) {
    check_.done(check_.b().settle_in_budget(name_, id, actual), "settle_in_budget");
  }
  void expect_unknown(ReservationId id, const std::string& what) {
    const Status settled = check_.b().settle_in_budget(name_, id, {.tokens = 1, .nanos = 1});
    check_.expect(!settled && settled.error().is<ValidationError>(ValidationError::Reason::invalid_option),
                  "settle_in_budget of " + what + " must fail with ValidationError invalid_option");
  }
  void expect_sums(const Spend& spent, const Spend& reserved, std::size_t reservations, const std::string& when) {
    const StoredBudget budget = load();
    check_.expect(budget.spent == spent, "the spent amount is wrong " + when);
    check_.expect(budget.reserved == reserved && budget.reservations == reservations,
                  "the reserved amount is wrong " + when);
  }
  // Far from the ids of other rules.
  static ReservationId next_id() {
    static std::atomic<ReservationId> last = 0x5A17'0000'0000'0000;
    return ++last;
  }

 private:
  StoreCheck& check_;
  std::string name_;
};

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

void budgets_are_kept_with_their_limits(StoreCheck& check) {
  BudgetRule full(check, {.limit = {.tokens = 1'000, .nanos = kMost}, .strict = false}, "full");
  BudgetRule open(check, {}, "open");
  const StoredBudget stored = full.load();
  check.expect(stored.name == full.name() && stored.created_at > StoreTime(), "a budget has another name or no time");
  check.expect(stored.terms == BudgetTerms{.limit = {.tokens = 1'000, .nanos = kMost}, .strict = false} &&
                   open.load().terms == BudgetTerms{},
               "a budget has other limits than those that it was created with");
  full.expect_sums({.tokens = 0, .nanos = 0}, {.tokens = 0, .nanos = 0}, 0, "in a new budget");
  check.refused(check.b().create_budget(open.name(), {.limit = {.tokens = 1}}), StoreReason::already_exists,
                "create_budget with a name that exists");
  check.expect(open.load().terms == BudgetTerms{}, "a refused create_budget changes the budget that exists");
}

void missing_budgets_are_not_found(StoreCheck& check) {
  const std::string name = check.own("missing");
  Store& store = check.a();
  check.refused(store.load_budget(name), StoreReason::not_found, "load_budget");
  check.refused(store.change_budget(name, {}), StoreReason::not_found, "change_budget");
  check.refused(store.remove_budget(name), StoreReason::not_found, "remove_budget");
  check.refused(store.list_reservations(name, {}, 10), StoreReason::not_found, "list_reservations");
  check.refused(store.forget_reservations(name, {}), StoreReason::not_found, "forget_reservations");
  check.refused(store.reserve_in_budget(name, {.id = BudgetRule::next_id()}), StoreReason::not_found,
                "reserve_in_budget");
  check.refused(store.settle_in_budget(name, BudgetRule::next_id(), {}), StoreReason::not_found, "settle_in_budget");
}

void budget_names_are_exact(StoreCheck& check) {
  BudgetRule plain(check, {.limit = {.tokens = 1}}, "é \"'%_\\");
  BudgetRule upper(check, {.limit = {.tokens = 2}}, "É \"'%_\\");
  check.expect(plain.load().terms.limit.tokens == 1 && upper.load().terms.limit.tokens == 2,
               "names of budgets that differ by case are mixed up");
  for (const std::string& name : {std::string(), std::string("a\0b", 3), std::string("\xFF"), std::string(201, 'x')}) {
    const auto made = check.a().create_budget(name, {});
    check.expect(!made && made.error().is<ValidationError>(ValidationError::Reason::invalid_option),
                 "create_budget with an invalid name must fail with ValidationError invalid_option");
    check.refused(check.a().load_budget(name), StoreReason::not_found, "load_budget with an invalid name");
  }
}

void budgets_are_listed_by_name(StoreCheck& check) {
  BudgetRule c(check, {}, "list-c");
  BudgetRule a(check, {}, "list-a");
  BudgetRule b(check, {.limit = {.nanos = 7}}, "list-b");
  const auto page = check.value(check.b().list_budgets(check.own("list-"), 2), "list_budgets");
  check.expect(page.size() == 2 && page[0].name == a.name() && page[1].name == b.name(),
               "list_budgets does not return the first names after `after`, in order");
  check.expect(page.size() < 2 || page[1].terms.limit.nanos == 7, "list_budgets returns other limits");
  const auto rest = check.value(check.b().list_budgets(b.name(), 1), "list_budgets");
  check.expect(rest.size() == 1 && rest[0].name == c.name(), "list_budgets does not continue after a name");
}

void a_reservation_counts_until_it_is_settled(StoreCheck& check) {
  BudgetRule budget(check, {.limit = {.tokens = 100, .nanos = 50}});
  const ReservationId id = budget.reserve({.tokens = 60, .nanos = 40});
  budget.expect_sums({.tokens = 0, .nanos = 0}, {.tokens = 60, .nanos = 40}, 1, "after a reservation");
  budget.settle(id, {.tokens = 10, .nanos = 0});
  budget.expect_sums({.tokens = 10, .nanos = 0}, {.tokens = 0, .nanos = 0}, 0, "after a settlement");
  budget.expect_unknown(id, "a reservation that is settled");
  budget.expect_unknown(BudgetRule::next_id(), "a reservation that was never made");
  budget.expect_sums({.tokens = 10, .nanos = 0}, {.tokens = 0, .nanos = 0}, 0, "after settlements that failed");
}

void an_unknown_usage_counts_as_reserved(StoreCheck& check) {
  BudgetRule budget(check, {.limit = {.tokens = 100}});
  budget.settle(budget.reserve({.tokens = 30, .nanos = 4}), {.nanos = 2});
  budget.settle(budget.reserve({.tokens = 20, .nanos = -5}), {});
  budget.expect_sums({.tokens = 50, .nanos = 2}, {.tokens = 0, .nanos = 0}, 0, "after settlements of unknown amounts");
}

void what_does_not_fit_is_refused(StoreCheck& check) {
  using What = BudgetRefusal::What;
  BudgetRule budget(check, {.limit = {.tokens = 100, .nanos = 10}});
  budget.reserve({.tokens = 60, .nanos = 9});
  budget.expect_refusal({.tokens = 41, .nanos = 0}, {.what = What::tokens, .limit = 100, .left = 40, .needed = 41},
                        "a reservation of more tokens than are left");
  budget.expect_refusal({.tokens = 0, .nanos = 2}, {.what = What::cost, .limit = 10, .left = 1, .needed = 2},
                        "a reservation that costs more than is left");
  budget.expect_refusal({.tokens = 1}, {.what = What::cost, .limit = 10, .left = 1},
                        "a reservation of an unknown cost");
  budget.expect_refusal({.nanos = 1}, {.what = What::tokens, .limit = 100, .left = 40},
                        "a reservation of an unknown number of tokens");
  budget.expect_sums({.tokens = 0, .nanos = 0}, {.tokens = 60, .nanos = 9}, 1, "after refusals");
  budget.settle(budget.reserve({.tokens = 40, .nanos = 1}), {.tokens = 90, .nanos = 1});
  budget.expect_refusal({.tokens = 0, .nanos = 0}, {.what = What::tokens, .limit = 100, .left = -50, .needed = 0},
                        "a reservation in a budget that is exceeded");

  BudgetRule lenient(check, {.limit = {.tokens = 5}, .strict = false}, "lenient");
  lenient.reserve({});
  lenient.reserve({.tokens = 5});
  lenient.expect_refusal({.tokens = 1}, {.what = What::tokens, .limit = 5, .left = 0, .needed = 1},
                         "a reservation in a full budget that is not strict");
}

void a_repeated_reservation_counts_once(StoreCheck& check) {
  BudgetRule budget(check, {.limit = {.tokens = 100}});
  const ReservationId id = budget.reserve({.tokens = 60, .nanos = 0});
  check.expect(std::holds_alternative<ReservationId>(budget.make(id, {.tokens = 60, .nanos = 0})),
               "a repeated reservation is refused because of itself");
  budget.expect_sums({.tokens = 0, .nanos = 0}, {.tokens = 60, .nanos = 0}, 1, "after a repeated reservation");
}

void limits_of_budgets_can_be_changed(StoreCheck& check) {
  BudgetRule budget(check, {.limit = {.tokens = 10}});
  budget.settle(budget.reserve({.tokens = 8, .nanos = 0}), {});
  const BudgetTerms raised{.limit = {.tokens = 20, .nanos = 5}, .strict = false};
  check.expect(check.value(check.b().change_budget(budget.name(), raised), "change_budget").terms == raised &&
                   budget.load().terms == raised,
               "change_budget does not set the limits");
  check.expect(budget.load().spent == Spend{.tokens = 8, .nanos = 0}, "change_budget changes what was spent");
  budget.reserve({.tokens = 12, .nanos = 1});
  check.value(check.b().change_budget(budget.name(), {.limit = {.tokens = 0}}), "change_budget");
  budget.expect_refusal({.tokens = 0, .nanos = 0},
                        {.what = BudgetRefusal::What::tokens, .limit = 0, .left = -20, .needed = 0},
                        "a reservation in a budget whose limit was lowered");
}

void reservations_are_listed(StoreCheck& check) {
  BudgetRule budget(check, {});
  const ReservationId first = budget.reserve({.tokens = 1, .nanos = 2}, "host:1");
  StoreCheck::next_millisecond();
  const ReservationId second = budget.reserve({.tokens = 3, .nanos = 4}, "host:2");
  const auto all = check.value(check.b().list_reservations(budget.name(), {}, 10), "list_reservations");
  check.expect(all.size() == 2 && all[0].id == first && all[1].id == second && all[0].holder == "host:1" &&
                   all[1].amount == Spend{.tokens = 3, .nanos = 4} && all[0].at > StoreTime() && all[0].at <= all[1].at,
               "list_reservations does not return the reservations as they were made, the oldest first");
  const auto of_two = check.value(check.b().list_reservations(budget.name(), {.holder = "host:2"}, 10), "list");
  check.expect(of_two.size() == 1 && of_two[0].id == second, "list_reservations ignores the holder");
  check.expect(check.value(check.b().list_reservations(budget.name(), {}, 1), "list").size() == 1,
               "list_reservations ignores the limit");
  const ReservationQuery old{.older_than = std::chrono::hours(1)};
  check.expect(check.value(check.b().list_reservations(budget.name(), old, 10), "list").empty(),
               "list_reservations ignores the age");
}

void forgotten_reservations_are_given_back(StoreCheck& check) {
  BudgetRule budget(check, {.limit = {.tokens = 100}});
  const ReservationId dead = budget.reserve({.tokens = 30, .nanos = 3}, "host:dead");
  const ReservationId alive = budget.reserve({.tokens = 70, .nanos = 0}, "host:alive");
  const auto none = check.value(
      check.b().forget_reservations(budget.name(), {.holder = "host:dead", .older_than = std::chrono::hours(1)}),
      "forget_reservations");
  check.expect(none.count == 0, "forget_reservations forgets a new reservation");
  const auto forgotten = check.value(check.b().forget_reservations(budget.name(), {.holder = "host:dead"}), "forget");
  check.expect(forgotten.count == 1 && forgotten.amount == Spend{.tokens = 30, .nanos = 3},
               "forget_reservations does not return what it has given back");
  budget.expect_sums({.tokens = 0, .nanos = 0}, {.tokens = 70, .nanos = 0}, 1, "after forget_reservations");
  const auto left = check.value(check.b().list_reservations(budget.name(), {}, 10), "list_reservations");
  check.expect(left.size() == 1 && left[0].id == alive, "a forgotten reservation is listed");
  const auto again = check.value(check.b().forget_reservations(budget.name(), {.holder = "host:dead"}), "forget");
  check.expect(again.count == 0, "a reservation is given back twice");
  // Its process lives after all.
  budget.settle(dead, {.tokens = 20});
  budget.expect_sums({.tokens = 20, .nanos = 3}, {.tokens = 70, .nanos = 0}, 1,
                     "after the settlement of a forgotten reservation");
  budget.expect_unknown(dead, "a forgotten reservation that is settled");
}

void a_removed_budget_takes_its_reservations(StoreCheck& check) {
  BudgetRule budget(check, {.limit = {.tokens = 10}});
  const ReservationId old = budget.reserve({.tokens = 10, .nanos = 0});
  check.done(check.b().remove_budget(budget.name()), "remove_budget");
  check.refused(check.a().settle_in_budget(budget.name(), old, {}), StoreReason::not_found,
                "settle_in_budget of a removed budget");
  check.value(check.b().create_budget(budget.name(), {.limit = {.tokens = 10}}), "create_budget");
  budget.expect_unknown(old, "a reservation of a removed budget");
  budget.expect_sums({.tokens = 0, .nanos = 0}, {.tokens = 0, .nanos = 0}, 0, "in a budget that was made again");
}

void sums_of_budgets_do_not_overflow(StoreCheck& check) {
  BudgetRule budget(check, {});
  budget.settle(budget.reserve({.tokens = kMost, .nanos = kMost}), {});
  const ReservationId one = budget.reserve({.tokens = kMost, .nanos = 1});
  const ReservationId two = budget.reserve({.tokens = kMost, .nanos = 1});
  budget.expect_sums({.tokens = kMost, .nanos = kMost}, {.tokens = kMost, .nanos = 2}, 2, "above the largest number");
  budget.settle(one, {});
  budget.settle(two, {.tokens = -5, .nanos = 0});
  budget.expect_sums({.tokens = kMost, .nanos = kMost}, {.tokens = 0, .nanos = 0}, 0, "above the largest number");
}

void many_processes_cannot_exceed_a_budget(StoreCheck& check) {
  const auto rounds = static_cast<std::int64_t>(check.options().rounds);
  // Half of the reservations fit at the same time; all of them are used by half.
  const auto threads = static_cast<std::int64_t>(check.options().threads);
  BudgetRule budget(check, {.limit = {.tokens = 10 * threads / 2}});
  std::atomic<std::int64_t> in_use = 0;
  std::atomic<std::int64_t> spent = 0;
  const std::int64_t limit = 10 * threads / 2;
  check.on_threads([&](Store& store, std::size_t) -> std::string {
    for (std::int64_t round = 0; round < rounds; ++round) {
      const ReservationId id = BudgetRule::next_id();
      const auto reserved = store.reserve_in_budget(budget.name(), {.id = id, .amount = {.tokens = 10, .nanos = 1}});
      if (!reserved) return "a reservation that competes with others failed: " + reserved.error().message();
      if (std::holds_alternative<BudgetRefusal>(*reserved)) continue;
      if ((in_use += 10) > limit) return "several threads together reserve more than the budget";
      std::this_thread::yield();
      in_use -= 10;
      const Status settled = store.settle_in_budget(budget.name(), id, {.tokens = 0, .nanos = 1});
      if (!settled) return "a settlement that competes with others failed: " + settled.error().message();
      ++spent;
    }
    return {};
  });
  budget.expect_sums({.tokens = 0, .nanos = spent}, {.tokens = 0, .nanos = 0}, 0, "after many threads have used it");
}

}  // namespace

std::vector<StoreRule> store_budget_rules() {
  return {{"budgets_are_kept_with_their_limits", budgets_are_kept_with_their_limits},
          {"missing_budgets_are_not_found", missing_budgets_are_not_found},
          {"budget_names_are_exact", budget_names_are_exact},
          {"budgets_are_listed_by_name", budgets_are_listed_by_name},
          {"a_reservation_counts_until_it_is_settled", a_reservation_counts_until_it_is_settled},
          {"an_unknown_usage_counts_as_reserved", an_unknown_usage_counts_as_reserved},
          {"what_does_not_fit_is_refused", what_does_not_fit_is_refused},
          {"a_repeated_reservation_counts_once", a_repeated_reservation_counts_once},
          {"limits_of_budgets_can_be_changed", limits_of_budgets_can_be_changed},
          {"reservations_are_listed", reservations_are_listed},
          {"forgotten_reservations_are_given_back", forgotten_reservations_are_given_back},
          {"a_removed_budget_takes_its_reservations", a_removed_budget_takes_its_reservations},
          {"sums_of_budgets_do_not_overflow", sums_of_budgets_do_not_overflow},
          {"many_processes_cannot_exceed_a_budget", many_processes_cannot_exceed_a_budget}};
}

}  // namespace allm::conformance
