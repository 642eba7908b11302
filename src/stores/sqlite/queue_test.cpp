// The order of jobs in an SQLite file, beyond what the conformance suite checks.
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "stores/sqlite/store_fixture.hpp"

namespace allm::testing::sqlite_queue_test {
namespace {

using namespace std::chrono_literals;

struct SqliteQueue : ::testing::Test {
  TestFolder folder;
  std::shared_ptr<Store> store = open_or_fail(folder.file());

  // A job of a new session.
  void add(const std::string& tenant, NewJob job = {}) {
    job.session_id = *store->create({.session = saying("x"), .tenant = tenant})->session.id;
    ASSERT_TRUE(store->submit(job).has_value());
  }
  std::optional<Job> claim(std::optional<std::size_t> limit = std::nullopt) {
    auto job = store->claim({.lease = 1h, .max_per_tenant = limit});
    EXPECT_TRUE(job.has_value()) << job.error().message();
    return job.value_or(std::nullopt);
  }
  void finish(const Job& job) {
    ASSERT_TRUE(store->commit(
        {.session_id = job.session_id, .fence = job.lease.fence, .finished_job = job.id, .release = true}));
  }
};

TEST_F(SqliteQueue, ManyJobsOfOneTenantDoNotHoldUpAnother) {
  for (int i = 0; i < 20; ++i) add("many");
  add("few");
  add("few");
  std::string order;
  for (int i = 0; i < 4; ++i) order += claim()->tenant + " ";
  // `many` was submitted first, but neither tenant was served before; then the one with fewer running jobs comes next.
  EXPECT_EQ(order, "few many few many ");
}

TEST_F(SqliteQueue, AmongEqualsTheTenantThatWasServedLongestAgoComesNext) {
  for (int i = 0; i < 3; ++i) {
    for (const char* tenant : {"a", "b", "c"}) add(tenant);
  }
  std::string order;
  for (int i = 0; i < 9; ++i) {
    const Job job = *claim();
    order += job.tenant;
    finish(job);
  }
  EXPECT_EQ(order, "abcabcabc");
}

TEST_F(SqliteQueue, ATenantAtItsLimitIsSkipped) {
  for (int i = 0; i < 3; ++i) add("a", {.priority = 9});
  add("b");
  const Job first = *claim(1);
  const Job second = *claim(1);
  EXPECT_NE(first.tenant, second.tenant);
  EXPECT_FALSE(claim(1).has_value());
  // A worker that waits now does not spin, although jobs are ready.
  EXPECT_FALSE(*store->wait_for_job(1ms));
  finish(first.tenant == "a" ? first : second);
  EXPECT_TRUE(*store->wait_for_job(60s));
  EXPECT_EQ(claim(1)->tenant, "a");
}

TEST_F(SqliteQueue, TheEndOfALeaseMakesRoomForATenant) {
  add("a");
  add("a");
  ASSERT_TRUE(store->claim({.lease = 30ms, .max_per_tenant = 1})->has_value());
  while (!claim(1)) EXPECT_TRUE(*store->wait_for_job(60s));
}

TEST_F(SqliteQueue, WaitingForAJobNoticesASubmission) {
  EXPECT_FALSE(*store->wait_for_job(1ms));
  const std::string id = *store->create({})->session.id;
  const auto other = open_or_fail(folder.file());
  for (const auto& submitter : {store, other}) {
    std::thread submitting([&] { EXPECT_TRUE(submitter->submit({.session_id = id}).has_value()); });
    EXPECT_TRUE(*store->wait_for_job(60s));
    submitting.join();
    finish(*claim());
  }
}

TEST_F(SqliteQueue, AJobOfAMissingSessionIsRefused) {
  EXPECT_EQ(reason_of(store->submit({.session_id = "missing"})), StoreError::Reason::not_found);
}

}  // namespace
}  // namespace allm::testing::sqlite_queue_test
