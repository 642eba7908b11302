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

// Every version has a file vN.db with a session "kept", one entry in its log and one job.
TEST(SqliteSchema, FilesOfEveryVersionAreMigrated) {
  for (std::size_t version = 1; version <= migrations().size(); ++version) {
    SCOPED_TRACE(version);
    const TestFolder folder;
    std::filesystem::copy_file(ALLM_SOURCE_DIR "/tests/data/stores/sqlite-v" + std::to_string(version) + ".db",
                               folder.file());
    std::filesystem::permissions(folder.file(), std::filesystem::perms::owner_all);
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
