#include "stores/postgres/schema.hpp"

#include <string>
#include <thread>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "allm/serialize.hpp"

#include "stores/postgres/postgres_store.hpp"
#include "tests/stores/postgres_server.hpp"

namespace allm::testing::postgres_schema_test {
namespace {

using Reason = StoreError::Reason;

TEST(PostgresSchema, ProcessesThatStartAtOnceCreateItOnce) {
  const std::string url = shared_postgres().new_database();
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const auto opened = open_postgres_store(url);
      EXPECT_TRUE(opened) << opened.error().message();
    });
  }
  threads.clear();
  EXPECT_EQ(run_sql(url, "SELECT string_agg(version::text, ',') FROM allm.schema_version"),
            std::to_string(postgres::kSchemaVersion));
}

TEST(PostgresSchema, Version1IsMigratedWithItsSessionsAndJobs) {
  const std::string url = shared_postgres().new_database();
  run_sql(url, std::string("CREATE SCHEMA allm;") + postgres::migration_to(1));
  run_sql(url,
          "INSERT INTO allm.sessions (id, tenant, status, title, messages, body, words) "
          "VALUES ('kept', 'acme', 'idle', '', 0, '{\"id\": \"kept\"}', '');"
          "SELECT allm.submit_job('kept', '{\"message\": \"go on\"}', 3, 0)");
  const auto store = open_postgres_store(url);
  ASSERT_TRUE(store) << store.error().message();
  EXPECT_EQ(run_sql(url, "SELECT version FROM allm.schema_version"), std::to_string(postgres::kSchemaVersion));
  EXPECT_TRUE((*store)->load("kept"));
  const auto job = (*store)->claim({});
  ASSERT_TRUE(job && *job);
  EXPECT_EQ((*job)->order, (Json{{"message", "go on"}}));
  EXPECT_EQ((*job)->priority, 3);
  EXPECT_EQ((*job)->max_attempts, 5);
  EXPECT_TRUE((*store)->commit({.session_id = "kept", .fence = (*job)->lease.fence, .finished_job = (*job)->id}));
}

TEST(PostgresSchema, ANewerVersionIsRefusedAndNotChanged) {
  const std::string url = shared_postgres().new_database();
  ASSERT_TRUE(open_postgres_store(url));
  run_sql(url, "UPDATE allm.schema_version SET version = 1000");
  const auto opened = open_postgres_store(url);
  ASSERT_FALSE(opened);
  EXPECT_TRUE(opened.error().is<StoreError>(Reason::future_version)) << opened.error().message();
  EXPECT_NE(opened.error().message().find("1000"), std::string::npos);
  EXPECT_EQ(run_sql(url, "SELECT version FROM allm.schema_version"), "1000");
}

TEST(PostgresSchema, ADamagedVersionIsAnError) {
  const std::string url = shared_postgres().new_database();
  ASSERT_TRUE(open_postgres_store(url));
  run_sql(url, "DELETE FROM allm.schema_version");
  const auto opened = open_postgres_store(url);
  ASSERT_FALSE(opened);
  EXPECT_TRUE(opened.error().is<StoreError>(Reason::corrupted)) << opened.error().message();
}

TEST(PostgresSchema, AMigrationThatFailsLeavesNothingBehind) {
  const std::string url = shared_postgres().new_database();
  run_sql(url, "CREATE SCHEMA allm; CREATE TABLE allm.log (unrelated integer)");
  ASSERT_FALSE(open_postgres_store(url));
  EXPECT_EQ(run_sql(url, "SELECT count(*) FROM pg_tables WHERE schemaname = 'allm'"), "1");
}

// A database of each earlier version, with a session and a job.
TEST(PostgresSchema, DatabasesOfEveryVersionAreMigrated) {
  for (int version = 1; version <= postgres::kSchemaVersion; ++version) {
    SCOPED_TRACE(version);
    const std::string url = shared_postgres().new_database();
    run_sql(url, "CREATE SCHEMA allm");
    for (int step = 1; step <= version; ++step) run_sql(url, postgres::migration_to(step));
    run_sql(url, "UPDATE allm.schema_version SET version = " + std::to_string(version));
    run_sql(url,
            "INSERT INTO allm.sessions (id, tenant, status, title, messages, body, words) VALUES ('kept', 'acme',"
            " 'idle', 'Keep this', 0, '" +
                to_json(Session{.id = "kept"}).value() + "', '')");
    const std::string attempts = version == 1 ? "" : ", 5, 1000";
    run_sql(url, R"(SELECT allm.submit_job('kept', '{"message": "go on"}', 0, 0)" + attempts + ")");
    const auto store = open_postgres_store(url);
    ASSERT_TRUE(store) << store.error().message();
    EXPECT_EQ(run_sql(url, "SELECT version FROM allm.schema_version"), std::to_string(postgres::kSchemaVersion));
    const auto kept = (*store)->load("kept");
    ASSERT_TRUE(kept) << kept.error().message();
    EXPECT_EQ(kept->tenant, "acme");
    const auto job = (*store)->claim({});
    ASSERT_TRUE(job && *job);
    EXPECT_EQ((*job)->order, (Json{{"message", "go on"}}));
    EXPECT_TRUE(open_budget(*store, "team", BudgetOptions{.max_cost = 1}));
  }
}

// The role owns nothing and may create nothing.
TEST(PostgresSchema, AProgramNeedsOnlyTheRightsThatAreDocumented) {
  const std::string url = shared_postgres().new_database();
  ASSERT_TRUE(open_postgres_store(url));
  run_sql(url,
          "CREATE ROLE allm_program LOGIN;"
          "GRANT USAGE ON SCHEMA allm TO allm_program;"
          "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA allm TO allm_program;"
          "GRANT USAGE ON ALL SEQUENCES IN SCHEMA allm TO allm_program;");
  const auto store = open_postgres_store(url + "?user=allm_program");
  ASSERT_TRUE(store) << store.error().message();
  const auto created = (*store)->create({});
  ASSERT_TRUE(created) << created.error().message();
  ASSERT_TRUE((*store)->submit({.session_id = *created->session.id}));
  const auto job = (*store)->claim({});
  ASSERT_TRUE(job && *job);
  EXPECT_TRUE((*store)->commit({.session_id = (*job)->session_id,
                                .fence = (*job)->lease.fence,
                                .entries = {{.kind = "event"}},
                                .session = created->session,
                                .finished_job = (*job)->id,
                                .release = true}));
  EXPECT_TRUE((*store)->wait_for_log((*job)->session_id, 0, std::chrono::milliseconds(0)));
  EXPECT_TRUE((*store)->remove((*job)->session_id));
  const auto budget = open_budget(*store, "team", BudgetOptions{.max_cost = 1});
  ASSERT_TRUE(budget) << budget.error().message();
  const auto reserved = (*budget)->reserve({.tokens = 1, .nanos = 1});
  ASSERT_TRUE(reserved) << reserved.error().message();
  EXPECT_TRUE((*budget)->settle(std::get<ReservationId>(*reserved), {}));
  EXPECT_TRUE((*store)->forget_reservations("team", {}));
  EXPECT_TRUE((*store)->change_budget("team", {}));
  EXPECT_TRUE((*store)->remove_budget("team"));
  run_sql(url, "REVOKE INSERT ON allm.sessions FROM allm_program");
  EXPECT_TRUE((*store)->create({}).error().is<StoreError>(Reason::read_only));
  run_sql(url, "DROP OWNED BY allm_program; DROP ROLE allm_program");
}

}  // namespace
}  // namespace allm::testing::postgres_schema_test
