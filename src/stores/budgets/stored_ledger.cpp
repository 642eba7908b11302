// open_budget: a budget of a store as the ledger of runs.
#include <array>
#include <cstring>
#include <limits>
#include <mutex>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "allm/stored_budget.hpp"

#include "engine/request_id.hpp"
#include "stores/budgets/budget_changes.hpp"
#include "stores/store_errors.hpp"

namespace allm {
namespace {

ReservationId new_reservation_id() {
  constexpr std::uint64_t kMask = std::numeric_limits<ReservationId>::max();
  while (true) {
    const SpanId random = make_span_id();
    std::uint64_t id = 0;
    static_assert(sizeof random.bytes == sizeof id);
    std::memcpy(&id, random.bytes.data(), sizeof id);
    if ((id & kMask) != 0) return static_cast<ReservationId>(id & kMask);
  }
}

// Of the process that calls it, which may be a fork of the one that opened the budget.
std::string this_process() {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  return fmt::format("{}:{}", host.data(), getpid());
}

std::string limits_text(const BudgetTerms& terms) {
  std::string text;
  if (terms.limit.nanos) text += fmt::format("cost {}, ", nanos_to_cost(*terms.limit.nanos));
  if (terms.limit.tokens) text += fmt::format("{} tokens, ", *terms.limit.tokens);
  if (text.empty()) text = "no limits, ";
  return text + (terms.strict ? "strict" : "not strict");
}

Error other_limits(const StoredBudget& found, const BudgetTerms& wanted) {
  return store_error(
      StoreError::Reason::conflict,
      fmt::format("budget '{}' exists with other limits ({}; wanted: {}); open it without limits, or change them",
                  found.name, limits_text(found.terms), limits_text(wanted)));
}

class StoredLedger final : public BudgetLedger {
 public:
  StoredLedger(std::shared_ptr<BudgetStore> store, std::string name)
      : store_(std::move(store)), name_(std::move(name)) {}

  Result<Reserved> reserve(const Spend& worst_case) override {
    const ReservationId id = new_reservation_id();
    Result<Reserved> reserved =
        store_->reserve_in_budget(name_, {.id = id, .amount = worst_case, .holder = this_process()});
    if (reserved) {
      settle_late();
    } else if (is_unclear(reserved.error())) {
      // It may have been made, but the call is not sent.
      remember({.id = id, .actual = {.tokens = 0, .nanos = 0}});
    }
    return reserved;
  }

  Status settle(ReservationId id, const Spend& actual) override {
    Status settled = store_->settle_in_budget(name_, id, actual);
    if (settled) {
      settle_late();
    } else if (can_be_repeated(settled.error())) {
      remember({.id = id, .actual = actual});
    }
    return settled;
  }

  Result<Spend> left() override {
    const Result<StoredBudget> budget = store_->load_budget(name_);
    if (!budget) return std::unexpected(budget.error());
    settle_late();
    return budget->left();
  }

 private:
  struct Settlement {
    ReservationId id = 0;
    Spend actual = {};
  };

  static bool is_unclear(const Error& error) { return error.is<StoreError>(StoreError::Reason::unavailable); }
  static bool can_be_repeated(const Error& error) {
    return error.get_if<StoreError>() != nullptr && !error.is<StoreError>(StoreError::Reason::not_found);
  }

  void remember(const Settlement& settlement) {
    const std::lock_guard lock(mutex_);
    late_.push_back(settlement);
  }

  // Repeats the settlements that failed, because the store can be reached again. Stops at the first that fails again.
  void settle_late() {
    std::vector<Settlement> late;
    {
      const std::lock_guard lock(mutex_);
      late.swap(late_);
    }
    while (!late.empty()) {
      const Status settled = store_->settle_in_budget(name_, late.back().id, late.back().actual);
      if (!settled && can_be_repeated(settled.error())) break;
      late.pop_back();  // also if there is no such reservation: it was settled, or never made
    }
    if (late.empty()) return;
    const std::lock_guard lock(mutex_);
    late_.insert(late_.end(), late.begin(), late.end());
  }

  const std::shared_ptr<BudgetStore> store_;  // shared with the program
  const std::string name_;
  std::mutex mutex_;
  std::vector<Settlement> late_;
};

Result<StoredBudget> find_or_create(BudgetStore& store, const std::string& name,
                                    const std::optional<BudgetOptions>& options) {
  if (!options) return store.load_budget(name);
  const BudgetTerms terms = terms_of(*options);
  Result<StoredBudget> found = store.create_budget(name, terms);
  if (!found && found.error().is<StoreError>(StoreError::Reason::already_exists)) found = store.load_budget(name);
  if (found && found->terms != terms) return std::unexpected(other_limits(*found, terms));
  return found;
}

}  // namespace

Result<std::shared_ptr<BudgetLedger>> open_budget(std::shared_ptr<BudgetStore> store, const std::string& name,
                                                  const std::optional<BudgetOptions>& options) {
  const Result<StoredBudget> found = find_or_create(*store, name, options);
  if (!found) return std::unexpected(found.error());
  return std::make_shared<StoredLedger>(std::move(store), name);  // shared by the runs of a program
}

}  // namespace allm
