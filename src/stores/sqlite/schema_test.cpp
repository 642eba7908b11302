// Schema versions: files of every earlier one, and the mechanism itself.
#include "stores/sqlite/schema.hpp"

#include <array>
#include <filesystem>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "stores/sqlite/file.hpp"
#include "stores/sqlite/store_fixture.hpp"

namespace allm::testing::sqlite_schema_test {
namespace {

using namespace sqlite;

std::unique_ptr<Connection> connect(const std::string& path) {
  const auto prepared = prepare_file(path);
  EXPECT_TRUE(prepared.has_value());
  auto connection = Connection::open({.path = *prepared});
  EXPECT_TRUE(connection.has_value()) << connection.error().message();
  return std::move(*connection);
}

std::string fixture(std::size_t version) {
  return ALLM_SOURCE_DIR "/tests/data/stores/sqlite-v" + std::to_string(version) + ".db";
}

// Writes the file of the newest version, once it is final: run it with --gtest_also_run_disabled_tests.
TEST(SqliteSchema, DISABLED_WriteTheFileOfTheNewestVersion) {
  const std::string path = fixture(migrations().size());
  ASSERT_FALSE(std::filesystem::exists(path)) << "a released version is never changed";
  {
    const auto store = open_or_fail(path);
    ASSERT_TRUE(store->create({.session = saying("Keep that", "kept"), .tenant = "acme"}));
    ASSERT_TRUE(store->commit(
        {.session_id = "kept", .entries = {{.kind = "run_started"}}, .session = saying("Keep this", "kept")}));
    ASSERT_TRUE(store->submit({.session_id = "kept", .order = {{"message", "go on"}}}));
    const auto budget = open_budget(store, "kept", BudgetOptions{.max_cost = 1.00, .max_tokens = 1'000});
    ASSERT_TRUE(budget && (*budget)->reserve({.tokens = 30, .nanos = 4}));
    ASSERT_TRUE(store->reserve_in_budget("kept", {.id = 7, .amount = {.tokens = 5, .nanos = 6}}));
    ASSERT_TRUE(store->settle_in_budget("kept", 7, {.tokens = 2}));
  }
  EXPECT_FALSE(std::filesystem::exists(path + "-wal"));
}

bool has_budgets(const std::string& path) {
  return *connect(path)->integer("SELECT count(*) FROM sqlite_schema WHERE name = 'budgets'") > 0;
}

void expect_budgets(const std::shared_ptr<Store>& store, bool kept) {
  EXPECT_TRUE(open_budget(store, "new", BudgetOptions{.max_cost = 1.00}));
  if (!kept) return;
  const auto budget = store->load_budget("kept");
  ASSERT_TRUE(budget) << budget.error().message();
  EXPECT_EQ(budget->terms, (BudgetTerms{.limit = {.tokens = 1'000, .nanos = 1'000'000'000}}));
  EXPECT_EQ(budget->spent, (Spend{.tokens = 2, .nanos = 6}));
  EXPECT_EQ(budget->reserved, (Spend{.tokens = 30, .nanos = 4}));
  EXPECT_EQ(store->forget_reservations("kept", {})->count, 1U);
}

// Every version has a file with a session "kept", one entry in its log, one job, and a budget "kept" if it has budgets.
TEST(SqliteSchema, FilesOfEveryVersionAreMigrated) {
  for (std::size_t version = 1; version <= migrations().size(); ++version) {
    SCOPED_TRACE(version);
    const TestFolder folder;
    std::filesystem::copy_file(fixture(version), folder.file());
    std::filesystem::permissions(folder.file(), std::filesystem::perms::owner_all);
    const bool with_budgets = has_budgets(folder.file());
    const auto store = open_or_fail(folder.file());
    ASSERT_NE(store, nullptr);
    const auto kept = store->load("kept");
    ASSERT_TRUE(kept.has_value()) << kept.error().message();
    EXPECT_EQ(kept->session.thread.messages.front().text(), "Keep this");
    EXPECT_EQ(kept->tenant, "acme");
    EXPECT_EQ(kept->version, 2);
    EXPECT_EQ(store->list({.text = "keep", .tenant = "acme"})->sessions.size(), 1U);
    EXPECT_EQ(store->read_log("kept", 0, 10)->at(0).kind, "run_started");
    const auto job = store->claim({});
    ASSERT_TRUE(job.has_value() && job->has_value());
    EXPECT_EQ((*job)->order, (Json{{"message", "go on"}}));
    EXPECT_TRUE(store->commit({.session_id = "kept", .fence = (*job)->lease.fence, .session = saying("changed")}));
    expect_budgets(store, with_budgets);
  }
}

constexpr std::array<Migration, 3> kThreeSteps = {"CREATE TABLE one (x); INSERT INTO one VALUES (1);",
                                                  "ALTER TABLE one ADD COLUMN y DEFAULT 2;",
                                                  "UPDATE one SET x = x + y;"};

TEST(SqliteSchema, EachStepRunsOnce) {
  const TestFolder folder;
  const auto connection = connect(folder.file());
  const std::span<const Migration> steps = kThreeSteps;
  ASSERT_TRUE(migrate(*connection, steps.first(1)).has_value());
  EXPECT_EQ(*connection->integer("PRAGMA user_version"), 1);
  ASSERT_TRUE(migrate(*connection, steps).has_value());
  ASSERT_TRUE(migrate(*connection, steps).has_value());
  EXPECT_EQ(*connection->integer("PRAGMA user_version"), 3);
  EXPECT_EQ(*connection->integer("SELECT x FROM one"), 3);
  const Status older = migrate(*connection, steps.first(2));
  ASSERT_FALSE(older.has_value());
  EXPECT_TRUE(older.error().is<StoreError>(StoreError::Reason::future_version));
}

TEST(SqliteSchema, AStepThatFailsChangesNothing) {
  const TestFolder folder;
  const auto connection = connect(folder.file());
  std::array<Migration, 2> steps = {kThreeSteps[0], "UPDATE one SET x = 7; UPDATE missing SET x = 1;"};
  ASSERT_TRUE(migrate(*connection, std::span<const Migration>(steps).first(1)).has_value());
  EXPECT_FALSE(migrate(*connection, steps).has_value());
  EXPECT_EQ(*connection->integer("PRAGMA user_version"), 1);
  EXPECT_EQ(*connection->integer("SELECT x FROM one"), 1);
  steps[1] = kThreeSteps[1];
  EXPECT_TRUE(migrate(*connection, steps).has_value());
}

TEST(SqliteSchema, ManyThreadsOpenANewFileAtOnce) {
  const TestFolder folder;
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      const auto store = open_or_fail(folder.file());
      EXPECT_TRUE(store != nullptr && store->create({}).has_value());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(open_or_fail(folder.file())->list({})->sessions.size(), 6U);
}

}  // namespace
}  // namespace allm::testing::sqlite_schema_test
