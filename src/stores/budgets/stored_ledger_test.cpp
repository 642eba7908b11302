// The ledger of runs on a budget of a store: what it does when the store fails.
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include <gtest/gtest.h>

#include "allm/work_queue.hpp"

#include "stores/memory/memory_store.hpp"
#include "stores/store_errors.hpp"

namespace allm::testing::stored_ledger_test {
namespace {

using Reason = StoreError::Reason;

// Loses its connection before or after the next call of a run.
class FailingStore : public MemoryStore {
 public:
  Result<Reserved> reserve_in_budget(const std::string& name, const NewReservation& reservation) override {
    if (fails_before) return std::unexpected(lost());
    auto reserved = MemoryStore::reserve_in_budget(name, reservation);
    if (fails_after) return std::unexpected(lost());
    return reserved;
  }
  Status settle_in_budget(const std::string& name, ReservationId id, const Spend& actual) override {
    if (fails_before) return std::unexpected(lost());
    Status settled = MemoryStore::settle_in_budget(name, id, actual);
    if (fails_after) return std::unexpected(lost());
    return settled;
  }

  bool fails_before = false;
  bool fails_after = false;

 private:
  static Error lost() { return store_error(Reason::unavailable, "the connection was lost"); }
};

Spend tokens(std::int64_t amount) { return {.tokens = amount, .nanos = 0}; }

class StoredLedgerTest : public ::testing::Test {
 protected:
  const std::shared_ptr<FailingStore> store = std::make_shared<FailingStore>();
  const std::shared_ptr<BudgetLedger> ledger = open_budget(store, "team", BudgetOptions{.max_tokens = 100}).value();

  ReservationId reserve(std::int64_t amount) const {
    const auto reserved = ledger->reserve(tokens(amount));
    EXPECT_TRUE(reserved && std::holds_alternative<ReservationId>(*reserved));
    return reserved ? std::get<ReservationId>(*reserved) : 0;
  }
  StoredBudget stored() const { return store->load_budget("team").value(); }
};

TEST_F(StoredLedgerTest, LedgersOfOneBudgetShareIt) {
  const auto other = open_budget(store, "team").value();
  const ReservationId id = reserve(60);
  EXPECT_EQ(other->left().value(), (Spend{.tokens = 40}));
  EXPECT_TRUE(std::holds_alternative<BudgetRefusal>(other->reserve(tokens(41)).value()));
  EXPECT_TRUE(ledger->settle(id, tokens(1)));
  EXPECT_EQ(other->left().value(), (Spend{.tokens = 99}));
  EXPECT_TRUE(ledger->may_block());
}

TEST_F(StoredLedgerTest, OpeningWithOtherLimitsIsAConflict) {
  EXPECT_TRUE(open_budget(store, "team", BudgetOptions{.max_tokens = 100}));
  EXPECT_TRUE(open_budget(store, "team"));
  const auto opened = open_budget(store, "team", BudgetOptions{.max_cost = 0.5, .max_tokens = 100});
  ASSERT_FALSE(opened);
  EXPECT_TRUE(opened.error().is<StoreError>(Reason::conflict));
  EXPECT_NE(opened.error().message().find("cost 0.5, 100 tokens, strict"), std::string::npos)
      << opened.error().message();
  EXPECT_EQ(stored().terms.limit, (Spend{.tokens = 100}));
  const auto missing = open_budget(store, "missing");
  ASSERT_FALSE(missing);
  EXPECT_TRUE(missing.error().is<StoreError>(Reason::not_found));
}

TEST_F(StoredLedgerTest, AReservationNamesItsProcess) {
  reserve(1);
  const auto list = store->list_reservations("team", {}, 10).value();
  ASSERT_EQ(list.size(), 1U);
  EXPECT_TRUE(list[0].holder.ends_with(":" + std::to_string(getpid()))) << list[0].holder;
}

TEST_F(StoredLedgerTest, AReservationWithoutAnAnswerCountsUntilTheStoreIsBack) {
  store->fails_after = true;
  const auto reserved = ledger->reserve(tokens(30));
  ASSERT_FALSE(reserved);
  EXPECT_TRUE(reserved.error().is<StoreError>(Reason::unavailable));
  EXPECT_EQ(stored().reserved.tokens, 30);
  store->fails_after = false;
  reserve(70);  // gives the other back afterwards
  EXPECT_EQ(stored().reserved.tokens, 70);
  EXPECT_EQ(stored().spent.tokens, 0);
}

TEST_F(StoredLedgerTest, ASettlementThatFailedIsRepeated) {
  const ReservationId first = reserve(30);
  const ReservationId second = reserve(30);
  store->fails_before = true;
  EXPECT_FALSE(ledger->settle(first, tokens(5)));
  EXPECT_FALSE(ledger->settle(second, tokens(6)));
  EXPECT_EQ(stored().reserved.tokens, 60) << "the worst case stays reserved";
  store->fails_before = false;
  EXPECT_TRUE(ledger->left());
  EXPECT_EQ(stored().spent.tokens, 11);
  EXPECT_EQ(stored().reserved.tokens, 0);
}

TEST_F(StoredLedgerTest, ASettlementWithoutAnAnswerCountsOnce) {
  const ReservationId id = reserve(30);
  store->fails_after = true;
  EXPECT_FALSE(ledger->settle(id, tokens(5)));
  store->fails_after = false;
  reserve(1);
  EXPECT_EQ(stored().spent.tokens, 5);
  EXPECT_EQ(stored().reserved.tokens, 1);
}

}  // namespace
}  // namespace allm::testing::stored_ledger_test
