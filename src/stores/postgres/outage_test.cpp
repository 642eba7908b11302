// Servers that restart and connections that break while sessions are changed: what was reported as done is there
// afterwards, and nothing is done twice.
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "stores/postgres/postgres_store.hpp"
#include "tests/cases.hpp"
#include "tests/stores/cutting_proxy.hpp"
#include "tests/stores/postgres_server.hpp"

namespace allm::testing::postgres_outage_test {
namespace {

using namespace std::chrono_literals;
using Reason = StoreError::Reason;

std::string name_of(const std::string& url) { return url.substr(url.rfind('/') + 1); }

std::shared_ptr<Store> open(const std::string& url) {
  auto store = open_postgres_store(url);
  if (!store) throw std::runtime_error(store.error().message());
  return *std::move(store);
}

std::string new_session(Store& store, const std::string& tenant = "") {
  return *store.create({.session = {.thread = {user("x")}}, .tenant = tenant}).value().session.id;
}

void end_connections(const std::string& url) {
  run_sql(url,
          "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
          " WHERE datname = current_database() AND pid <> pg_backend_pid()");
}

// Makes the proxy cut connections, also those that are open.
void start_cutting(CuttingProxy& proxy, const std::string& url) {
  proxy.cut_after(200, 8'000);
  end_connections(url);
}

// Calls `work` with 0 to count - 1 on a few threads.
void on_threads(int count, const std::function<void(int)>& work) {
  std::atomic<int> next = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 10; ++t) {
    threads.emplace_back([&] {
      for (int i = next++; i < count; i = next++) work(i);
    });
  }
}

// A lease that a lost answer has left behind expires soon.
Lease acquire(Store& store, const std::string& id) {
  while (true) {
    const auto lease = store.acquire(id, 200ms);
    if (!lease) continue;
    if (const auto renewed = store.renew(*lease, 10min)) return *renewed;
  }
}

// Appends entries 1 to `count`, each with a new state of the session, and counts them in `made`. Returns the first
// error.
std::string run_session(Store& store, const std::string& id, int count, std::atomic<int>& made) {
  const Lease lease = acquire(store, id);
  for (int i = 1; i <= count; ++i) {
    const auto committed = store.commit({.session_id = id,
                                         .fence = lease.fence,
                                         .expected_version = i,
                                         .entries = {{.kind = "fact", .body = {{"n", i}}}, {.kind = "event"}},
                                         .session = Session{.thread = {user(std::to_string(i))}},
                                         .release = i == count});
    if (!committed) return committed.error().message();
    if (committed->version != i + 1 || committed->last_number != 2 * i) return "wrong numbers";
    ++made;
    made.notify_all();
  }
  return {};
}

// Each entry is there once, in order, and so is the last state.
void expect_complete(Store& store, const std::string& id, int count) {
  const auto log = store.read_log(id, 0, 1'000, "facts");
  ASSERT_TRUE(log) << log.error().message();
  ASSERT_EQ(log->size(), static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    EXPECT_EQ((*log)[static_cast<std::size_t>(i)].body["n"], i + 1);
    EXPECT_EQ((*log)[static_cast<std::size_t>(i)].number, 2 * i + 1);
  }
  const auto loaded = store.load(id);
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ(loaded->version, count + 1);
  EXPECT_EQ(loaded->session.thread.messages[0].text(), std::to_string(count));
}

TEST(PostgresOutage, SessionsFinishWhenTheServerRestartsInTheMiddle) {
  constexpr int kSessions = 100;
  constexpr int kCommits = 6;
  const auto store = open(shared_postgres().new_database() + "?allm_retry_ms=120000");
  std::vector<std::string> ids;
  for (int i = 0; i < kSessions; ++i) ids.push_back(new_session(*store));
  std::atomic<int> made = 0;
  std::jthread sessions([&] {
    on_threads(kSessions,
               [&](int i) { EXPECT_EQ(run_session(*store, ids[static_cast<std::size_t>(i)], kCommits, made), ""); });
  });
  for (const int restart_at : {100, 300}) {
    for (int now = made; now < restart_at; now = made) made.wait(now);
    shared_postgres().restart(PostgresServer::Stop::immediate);
  }
  sessions.join();
  for (const std::string& id : ids) expect_complete(*store, id, kCommits);
}

TEST(PostgresOutage, CommitsAreMadeOnceWhenConnectionsAreCutAtRandom) {
  const int sessions = cases(20);
  constexpr int kCommits = 10;
  const std::string url = shared_postgres().new_database();
  const auto direct = open(url);
  CuttingProxy proxy(shared_postgres().socket(), 1);
  const auto store = open(proxy.url(name_of(url)) + "&allm_retry_ms=120000");
  std::vector<std::string> ids;
  for (int i = 0; i < sessions; ++i) ids.push_back(new_session(*direct));
  start_cutting(proxy, url);
  std::atomic<int> made = 0;
  on_threads(sessions,
             [&](int i) { EXPECT_EQ(run_session(*store, ids[static_cast<std::size_t>(i)], kCommits, made), ""); });
  for (const std::string& id : ids) expect_complete(*direct, id, kCommits);
  EXPECT_GT(proxy.cuts(), sessions / 2);
}

TEST(PostgresOutage, JobsRunOnceWhenConnectionsAreCutAtRandom) {
  const int jobs = cases(20);
  const std::string url = shared_postgres().new_database();
  const auto direct = open(url);
  CuttingProxy proxy(shared_postgres().socket(), 2);
  const auto store = open(proxy.url(name_of(url)) + "&allm_retry_ms=120000");
  std::vector<std::string> ids;
  for (int i = 0; i < jobs; ++i) ids.push_back(new_session(*direct));
  for (const std::string& id : ids) ASSERT_TRUE(direct->submit({.session_id = id}));
  start_cutting(proxy, url);
  std::atomic<int> finished = 0;
  on_threads(10, [&](int) {
    while (finished < jobs) {
      const auto job = store->claim({.lease = 300ms});
      if (job && !*job) static_cast<void>(store->wait_for_job(50ms));
      if (!job || !*job) continue;
      if (store->commit({.session_id = (*job)->session_id,
                         .fence = (*job)->lease.fence,
                         .entries = {{.kind = "ran"}},
                         .finished_job = (*job)->id,
                         .release = true})) {
        ++finished;
      }
    }
  });
  EXPECT_EQ(finished, jobs);
  const auto counts = direct->count_jobs();
  EXPECT_EQ(counts->ready + counts->delayed + counts->running, 0U);
  for (const std::string& id : ids) EXPECT_EQ(direct->read_log(id, 0, 10, "ran")->size(), 1U);
}

// Without entries nothing tells afterwards whether the commit was made, so the store must not repeat it.
TEST(PostgresOutage, ACommitWithoutEntriesIsNotRepeated) {
  const std::string url = shared_postgres().new_database();
  const auto direct = open(url);
  const std::string id = new_session(*direct);
  CuttingProxy proxy(shared_postgres().socket(), 3);
  const auto store = open(proxy.url(name_of(url)) + "&allm_retry_ms=120000");
  start_cutting(proxy, url);
  std::int64_t made = 1;
  for (int i = 0; i < cases(30); ++i) {
    const auto saved = store->commit({.session_id = id, .session = Session{.thread = {user("x")}}});
    if (!saved) {
      EXPECT_TRUE(saved.error().is<StoreError>(Reason::unavailable)) << saved.error().message();
    }
    const std::int64_t version = direct->load(id)->version;
    EXPECT_LE(version - made, 1);
    EXPECT_GE(version - made, saved ? 1 : 0);
    made = version;
  }
  EXPECT_GT(proxy.cuts(), 0);
}

TEST(PostgresOutage, ACallFailsWhileTheServerIsDownAndTheNextOneReconnects) {
  const std::string url = shared_postgres().new_database();
  const auto store = open(url + "?allm_retry_ms=0");
  const std::string id = new_session(*store);
  shared_postgres().stop(PostgresServer::Stop::immediate);
  const auto loaded = store->load(id);
  ASSERT_FALSE(loaded);
  EXPECT_TRUE(loaded.error().is<StoreError>(Reason::unavailable)) << loaded.error().message();
  shared_postgres().start();
  EXPECT_TRUE(store->load(id));
  end_connections(url);
  EXPECT_TRUE(store->create({}));  // not repeatable, but the closed connection is noticed before anything is sent
}

TEST(PostgresOutage, BudgetsCountOnceWhenConnectionsAreCutAtRandom) {
  const int calls = cases(100);
  const std::string direct = shared_postgres().new_database();
  CuttingProxy proxy(shared_postgres().socket(), 4);
  const auto store = open(proxy.url(name_of(direct)) + "&allm_retry_ms=120000");
  const auto budget = open_budget(store, "team", BudgetOptions{.max_tokens = 1'000'000}).value();
  start_cutting(proxy, direct);
  std::atomic<std::int64_t> used = 0;
  on_threads(calls, [&](int i) {
    const auto reserved = budget->reserve({.tokens = 20, .nanos = 2});
    ASSERT_TRUE(reserved) << reserved.error().message();
    const Status settled = budget->settle(std::get<ReservationId>(*reserved), {.tokens = i % 20, .nanos = 1});
    EXPECT_TRUE(settled) << settled.error().message();
    used += i % 20;
  });
  const auto kept = open(direct)->load_budget("team");
  ASSERT_TRUE(kept) << kept.error().message();
  EXPECT_EQ(kept->spent, (Spend{.tokens = used, .nanos = calls}));
  EXPECT_EQ(kept->reserved, (Spend{.tokens = 0, .nanos = 0}));
  EXPECT_GT(proxy.cuts(), 0);
}

}  // namespace
}  // namespace allm::testing::postgres_outage_test
