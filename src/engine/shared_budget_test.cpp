// The budget in memory: reservations, settlements and their sums.
#include <cstdint>
#include <limits>
#include <thread>
#include <variant>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "allm/budget.hpp"

namespace allm::shared_budget_test {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

Spend nanos(std::int64_t amount) { return {.tokens = 0, .nanos = amount}; }
Spend tokens(std::int64_t amount) { return {.tokens = amount, .nanos = 0}; }

ReservationId reserve(BudgetLedger& budget, const Spend& amount) {
  const auto reserved = budget.reserve(amount);
  const auto* id = reserved ? std::get_if<ReservationId>(&*reserved) : nullptr;
  EXPECT_NE(id, nullptr);
  return id != nullptr ? *id : -1;
}

BudgetRefusal refusal(BudgetLedger& budget, const Spend& amount) {
  const auto reserved = budget.reserve(amount);
  const auto* refused = reserved ? std::get_if<BudgetRefusal>(&*reserved) : nullptr;
  EXPECT_NE(refused, nullptr);
  return refused != nullptr ? *refused : BudgetRefusal{};
}

TEST(SharedBudget, CostsAreConvertedUpwards) {
  EXPECT_EQ(cost_to_nanos(1.0), 1'000'000'000);
  EXPECT_EQ(cost_to_nanos(1.5e-9), 2);
  EXPECT_EQ(cost_to_nanos(-1), 0);
  EXPECT_EQ(cost_to_nanos(1e300), kMost);
  EXPECT_EQ(cost_to_nanos(std::numeric_limits<double>::quiet_NaN()), kMost);
  EXPECT_EQ(nanos_to_cost(250'000'000), 0.25);
}

TEST(SharedBudget, RefusesWhatDoesNotFit) {
  Budget budget({.max_cost = 1.0, .max_tokens = 100});
  reserve(budget, {.tokens = 60, .nanos = 1});
  EXPECT_EQ(refusal(budget, tokens(41)),
            (BudgetRefusal{.what = BudgetRefusal::What::tokens, .limit = 100, .left = 40, .needed = 41}));
  EXPECT_EQ(
      refusal(budget, nanos(1'000'000'000)),
      (BudgetRefusal{
          .what = BudgetRefusal::What::cost, .limit = 1'000'000'000, .left = 999'999'999, .needed = 1'000'000'000}));
  reserve(budget, {.tokens = 40, .nanos = 999'999'999});
  EXPECT_EQ(budget.left(), (Spend{.tokens = 0, .nanos = 0}));
}

TEST(SharedBudget, ASettledReservationCountsAsWhatWasUsed) {
  Budget budget({.max_tokens = 100});
  const ReservationId id = reserve(budget, tokens(100));
  EXPECT_TRUE(budget.settle(id, {.tokens = 30, .nanos = 5}));
  EXPECT_EQ(budget.left(), (Spend{.tokens = 70}));
  EXPECT_EQ(budget.spent(), (Spend{.tokens = 30, .nanos = 5}));
  EXPECT_FALSE(budget.settle(id, tokens(1))) << "once only";
  EXPECT_EQ(budget.spent().tokens, 30);
}

TEST(SharedBudget, AnUnknownUsageCountsAsTheWorstCase) {
  Budget budget({.max_cost = 1.0, .max_tokens = 100});
  EXPECT_TRUE(budget.settle(reserve(budget, {.tokens = 10, .nanos = 7}), {.tokens = 4}));
  EXPECT_EQ(budget.spent(), (Spend{.tokens = 4, .nanos = 7}));
}

TEST(SharedBudget, AReleasedReservationCountsAsNothing) {
  Budget budget({.max_tokens = 100});
  EXPECT_TRUE(budget.release(reserve(budget, tokens(100))));
  EXPECT_EQ(budget.left(), (Spend{.tokens = 100}));
}

TEST(SharedBudget, MoreThanTheWorstCaseIsRecorded) {
  Budget budget({.max_tokens = 100});
  EXPECT_TRUE(budget.settle(reserve(budget, tokens(90)), tokens(150)));
  EXPECT_EQ(budget.left(), (Spend{.tokens = -50}));
  EXPECT_EQ(refusal(budget, tokens(0)).left, -50);
}

TEST(SharedBudget, AnUnknownAmountIsRefusedIfItIsLimited) {
  Budget strict({.max_cost = 1.0});
  EXPECT_EQ(refusal(strict, {.tokens = 1}).needed, std::nullopt);
  reserve(strict, {.nanos = 1});  // tokens are not limited
  Budget lenient({.max_cost = 1.0, .strict = false});
  EXPECT_TRUE(lenient.settle(reserve(lenient, {}), nanos(2'000'000'000)));
  EXPECT_EQ(refusal(lenient, {}).needed, 0) << "nothing is left";
}

TEST(SharedBudget, ALimitThatIsNotANumberAboveZeroRefusesAll) {
  for (const double cost : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
    Budget budget({.max_cost = cost});
    EXPECT_EQ(refusal(budget, nanos(1)).limit, 0);
  }
  Budget endless({.max_cost = 1e300});
  reserve(endless, nanos(kMost));
}

// The sum of what is reserved and settled never exceeds the limit while no call uses more than its worst case.
RC_GTEST_PROP(SharedBudgetProperty, IsNeverExceeded, (const std::vector<std::uint16_t>& amounts, std::uint16_t limit)) {
  Budget budget({.max_tokens = limit});
  std::vector<std::pair<ReservationId, std::int64_t>> open;
  std::int64_t spent = 0;
  std::int64_t reserved = 0;
  for (const std::uint16_t amount : amounts) {
    if (amount % 3 == 0 && !open.empty()) {
      const auto [id, worst] = open.back();
      open.pop_back();
      const std::int64_t used = amount % (worst + 1);
      RC_ASSERT(budget.settle(id, tokens(used)).has_value());
      spent += used;
      reserved -= worst;
      continue;
    }
    const auto made = budget.reserve(tokens(amount));
    const auto* id = std::get_if<ReservationId>(&*made);
    RC_ASSERT((id != nullptr) == (spent + reserved + amount <= limit));
    if (id == nullptr) continue;
    open.emplace_back(*id, amount);
    reserved += amount;
  }
  RC_ASSERT(budget.left()->tokens == limit - spent - reserved);
  RC_ASSERT(spent + reserved <= limit);
}

TEST(SharedBudget, IsSharedByThreads) {
  constexpr int kThreads = 8;
  constexpr int kRounds = 200;
  Budget budget({.max_tokens = kThreads * kRounds / 2});
  std::vector<std::int64_t> taken(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kRounds; ++i) {
          const auto reserved = budget.reserve(tokens(2));
          const auto* id = std::get_if<ReservationId>(&*reserved);
          if (id == nullptr) continue;
          ++taken[static_cast<std::size_t>(t)];
          EXPECT_TRUE(budget.settle(*id, tokens(1)));
        }
      });
    }
  }
  std::int64_t sum = 0;
  for (const std::int64_t part : taken) sum += part;
  EXPECT_EQ(budget.spent().tokens, sum);
  EXPECT_LE(sum, kThreads * kRounds / 2);
  EXPECT_GE(sum, kThreads * kRounds / 2 - 2 * kThreads) << "nothing is refused while all reservations fit";
}

}  // namespace
}  // namespace allm::shared_budget_test
