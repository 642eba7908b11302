#include "stores/postgres/postgres_store.hpp"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "allm/store_conformance.hpp"

#include "tests/stores/postgres_server.hpp"

namespace allm::testing::postgres_store_test {
namespace {

using namespace std::chrono_literals;
using Reason = StoreError::Reason;

std::shared_ptr<Store> open(const std::string& url) {
  auto store = open_postgres_store(url);
  if (!store) throw std::runtime_error(store.error().message());
  return *std::move(store);
}

class PostgresStoreTest : public ::testing::Test {
 protected:
  const std::string url = shared_postgres().new_database();
  const std::shared_ptr<Store> store = open(url);

  std::string create(const std::string& text = "hello", const std::string& tenant = "") const {
    auto created = store->create({.session = {.thread = {user(text)}}, .tenant = tenant});
    EXPECT_TRUE(created) << created.error().message();
    return created ? *created->session.id : "";
  }
  Commit event(const std::string& id, const std::string& text) const {
    return {.session_id = id, .entries = {{.kind = "event", .body = {{"text", text}}}}};
  }
};

TEST_F(PostgresStoreTest, AStatementThatTheServerForgotIsPreparedAgain) {
  const auto address = postgres::parse_address(url);
  ASSERT_TRUE(address);
  auto connection = postgres::Connection::open(*address);
  ASSERT_TRUE(connection);
  ASSERT_TRUE(connection->run_script("CREATE TABLE things (a integer); INSERT INTO things VALUES (1)"));
  const auto columns = [&] {
    const auto rows = connection->run_prepared("SELECT * FROM things WHERE a = $1", postgres::Arguments().number(1));
    EXPECT_TRUE(rows) << rows.error().error.message();
    return rows && rows->count() == 1 ? rows->columns() : 0;
  };
  EXPECT_EQ(columns(), 1);
  ASSERT_TRUE(connection->run_script("DEALLOCATE ALL"));
  EXPECT_EQ(columns(), 1);
  ASSERT_TRUE(connection->run_script("ALTER TABLE things ADD COLUMN b integer"));
  EXPECT_EQ(columns(), 2);
  EXPECT_EQ(columns(), 2);
}

TEST_F(PostgresStoreTest, KeepsThePromisesOfStores) {
  const ConformanceReport report = check_store([&] { return open_store(url); });
  EXPECT_TRUE(report.passed()) << report.summary();
}

TEST_F(PostgresStoreTest, SessionsKeepTextThatPostgresDoesNotKnow) {
  const std::string text = std::string("a\0b ", 4) + "\xF0\x9F\x98\x80 \\ \" ' {}";
  const std::string id = create(text);
  const auto loaded = store->load(id);
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ(loaded->session.thread.messages[0].text(), text);
  EXPECT_EQ(store->list({.text = "b a"})->sessions.size(), 1U);

  Commit change = event(id, text);
  change.entries.push_back({.kind = "quote\"{},\\", .body = {{"text", ""}}});
  ASSERT_TRUE(store->commit(change));
  const auto log = store->read_log(id, 0, 10);
  ASSERT_EQ(log->size(), 2U);
  EXPECT_EQ((*log)[0].body["text"], text);
  EXPECT_EQ((*log)[1].kind, change.entries[1].kind);
}

TEST_F(PostgresStoreTest, NamesThatPostgresCannotHoldAreRefused) {
  const std::string nul("a\0b", 3);
  for (const std::string& id : {nul, std::string("\xFF"), std::string(1'001, 'x')}) {
    EXPECT_TRUE(store->create({.session = {.id = id}}).error().get_if<ValidationError>()) << id;
    EXPECT_TRUE(store->load(id).error().is<StoreError>(Reason::not_found)) << id;
    EXPECT_TRUE(store->commit({.session_id = id}).error().is<StoreError>(Reason::not_found)) << id;
    EXPECT_TRUE(store->wait_for_log(id, 0, 0ms).error().is<StoreError>(Reason::not_found)) << id;
  }
  EXPECT_TRUE(store->create({.tenant = nul}).error().get_if<ValidationError>());
  EXPECT_TRUE(store->list({.tenant = nul})->sessions.empty());
  EXPECT_TRUE(store->create({.session = {.id = std::string(1'000, 'x')}}));
}

TEST_F(PostgresStoreTest, AHugeVocabularyIsStoredAndTheBeginningIsFound) {
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += "w" + std::to_string(i) + "-x" + std::to_string(i % 7) + " ";
  create(text);
  EXPECT_EQ(store->list({.text = "W77 x3"})->sessions.size(), 1U);
  EXPECT_TRUE(store->list({.text = "w77 nowhere"})->sessions.empty());
}

TEST_F(PostgresStoreTest, ASessionEditedIntoNonsenseDamagesNothingElse) {
  const std::string broken = create("broken");
  const std::string whole = create("whole");
  run_sql(url, "UPDATE allm.sessions SET body = 'nonsense' WHERE id = '" + broken + "'");
  const auto loaded = store->load(broken);
  ASSERT_FALSE(loaded);
  EXPECT_TRUE(loaded.error().is<StoreError>(Reason::corrupted));
  EXPECT_NE(loaded.error().message().find(broken), std::string::npos);
  EXPECT_TRUE(store->load(whole));
  EXPECT_EQ(store->list({})->sessions.size(), 2U);
}

TEST_F(PostgresStoreTest, ThreadsShareFewConnections) {
  const std::string separator = url.find('?') == std::string::npos ? "?" : "&";
  const std::shared_ptr<Store> small = open(url + separator + "allm_connections=2&application_name=few");
  const std::string id = create();
  std::atomic<int> failures = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) failures += small->commit(event(id, "x")).has_value() ? 0 : 1;
    });
  }
  threads.clear();
  EXPECT_EQ(failures, 0);
  const auto log = small->read_log(id, 0, 1'000);
  ASSERT_EQ(log->size(), 160U);
  for (std::size_t i = 0; i < log->size(); ++i) EXPECT_EQ((*log)[i].number, static_cast<std::int64_t>(i + 1));
  EXPECT_LE(std::stoi(run_sql(url, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'few'")), 2);
}

TEST_F(PostgresStoreTest, AWaitingThreadSeesTheCommitOfAnotherProcess) {
  const std::string id = create();
  const std::shared_ptr<Store> other = open(url);
  for (int i = 0; i < 20; ++i) {
    std::jthread writer([&] { EXPECT_TRUE(other->commit(event(id, "x"))); });
    EXPECT_TRUE(*store->wait_for_log(id, i, 60s));
  }
  EXPECT_FALSE(*store->wait_for_log(id, 20, 1ms));
}

TEST_F(PostgresStoreTest, AWaitEndsWhenTheSessionIsRemoved) {
  const std::string id = create();
  std::jthread remover([&] { EXPECT_TRUE(store->remove(id)); });
  const auto waited = store->wait_for_log(id, 0, 60s);
  ASSERT_FALSE(waited);
  EXPECT_TRUE(waited.error().is<StoreError>(Reason::not_found));
}

TEST_F(PostgresStoreTest, AWaitSurvivesALostListener) {
  const std::string id = create();
  std::atomic<bool> woken = false;
  std::jthread waiter([&] { woken = store->wait_for_log(id, 0, 60s).value_or(false); });
  const std::string listeners = " FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()";
  while (run_sql(url, "SELECT count(*)" + listeners) == "0") std::this_thread::yield();
  // An entry of which no notification arrives.
  run_sql(url, "INSERT INTO allm.log VALUES ('" + id + "', 1, 'event', '{}', now(), 'x')");
  run_sql(url, "UPDATE allm.sessions SET last_number = 1");
  run_sql(url, "SELECT pg_terminate_backend(pid)" + listeners);
  waiter.join();
  EXPECT_TRUE(woken);
}

TEST_F(PostgresStoreTest, AWaitForJobsEndsWhenOneIsSubmittedElsewhere) {
  const std::string id = create();
  const std::shared_ptr<Store> other = open(url);
  EXPECT_FALSE(*store->wait_for_job(0ms));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(*store->claim({}), std::nullopt);
    std::jthread submitter([&] { EXPECT_TRUE(other->submit({.session_id = id})); });
    EXPECT_TRUE(*store->wait_for_job(60s));
    const auto job = store->claim({});
    ASSERT_TRUE(job && *job);
    const Commit end{.session_id = id, .fence = (*job)->lease.fence, .finished_job = (*job)->id, .release = true};
    EXPECT_TRUE(store->commit(end));
  }
}

TEST_F(PostgresStoreTest, AJobOfATenantAtItsLimitDoesNotEndEveryWaitAtOnce) {
  ASSERT_TRUE(store->submit({.session_id = create("a", "t")}));
  ASSERT_TRUE(store->submit({.session_id = create("b", "t")}));
  const ClaimOptions one{.max_per_tenant = 1};
  ASSERT_TRUE(store->claim(one)->has_value());
  store->wait_for_job(0ms);
  EXPECT_EQ(*store->claim(one), std::nullopt);
  EXPECT_EQ(store->count_jobs()->ready, 1U);
  EXPECT_FALSE(*store->wait_for_job(0ms));
}

TEST_F(PostgresStoreTest, ManyClaimersKeepTheLimitAndTakeEachJobOnce) {
  constexpr int kJobs = 60;
  for (int i = 0; i < kJobs; ++i) {
    ASSERT_TRUE(store->submit({.session_id = create("x", "t" + std::to_string(i % 3))}));
  }
  std::array<std::atomic<int>, 3> running{};
  std::atomic<int> done = 0;
  std::atomic<int> over = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      while (done < kJobs) {
        const auto job = store->claim({.max_per_tenant = 2});
        if (!job || !*job) continue;
        const auto tenant = static_cast<std::size_t>((*job)->tenant[1] - '0');
        if (++running[tenant] > 2 || (*job)->attempt != 1) ++over;
        --running[tenant];
        const Commit end{.session_id = (*job)->session_id,
                         .fence = (*job)->lease.fence,
                         .finished_job = (*job)->id,
                         .release = true};
        if (!store->commit(end)) ++over;
        ++done;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(done, kJobs);
  EXPECT_EQ(over, 0);
}

}  // namespace
}  // namespace allm::testing::postgres_store_test
