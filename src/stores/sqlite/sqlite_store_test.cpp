// Sessions, changes, logs and leases in an SQLite file.
#include "stores/sqlite/sqlite_store.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "allm/serialize.hpp"

#include "stores/sqlite/store_fixture.hpp"

namespace allm::testing::sqlite_store_test {
namespace {

using namespace std::chrono_literals;
using Reason = StoreError::Reason;

struct SqliteStore : ::testing::Test {
  TestFolder folder;
  std::shared_ptr<Store> store = open_or_fail(folder.file());

  std::string add(const std::string& text, const std::string& tenant = "") {
    return store->create({.session = saying(text), .tenant = tenant})->session.id.value_or("");
  }
  std::vector<std::string> titles(const SessionQuery& query) {
    std::vector<std::string> titles;
    const auto page = store->list(query);
    EXPECT_TRUE(page.has_value()) << page.error().message();
    for (const SessionSummary& session : page->sessions) titles.push_back(session.title);
    return titles;
  }
};

TEST_F(SqliteStore, ASessionIsThereWhenTheFileIsOpenedAgain) {
  const auto created = store->create({.session = saying("Hello", "s1"), .tenant = "t"});
  ASSERT_TRUE(created.has_value()) << created.error().message();
  store = open_or_fail(folder.file());
  const auto loaded = store->load("s1");
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message();
  EXPECT_EQ(loaded->session, created->session);
  EXPECT_EQ(loaded->version, 1);
  EXPECT_EQ(loaded->tenant, "t");
  EXPECT_EQ(loaded->created_at, created->created_at);
  EXPECT_EQ(reason_of(store->create({.session = saying("again", "s1")})), Reason::already_exists);
  EXPECT_EQ(reason_of(store->load("s2")), Reason::not_found);
}

TEST_F(SqliteStore, TheFilesAreForTheirOwnerOnly) {
  add("Hello");
  for (const char* name : {"store.db", "store.db-wal", "store.db-shm"}) {
    struct stat found = {};
    ASSERT_EQ(stat(folder.file(name).c_str(), &found), 0) << name;
    EXPECT_EQ(found.st_mode & 0777U, 0600U) << name;
  }
}

TEST_F(SqliteStore, AStaleWriterGetsAConflict) {
  const std::string id = add("one");
  const Commit change = {.session_id = id, .expected_version = 1, .session = saying("two")};
  ASSERT_EQ(store->commit(change)->version, 2);
  EXPECT_EQ(reason_of(store->commit(change)), Reason::conflict);
  EXPECT_EQ(store->load(id)->session.thread.messages.front().text(), "two");
  EXPECT_EQ(reason_of(store->commit({.session_id = "other"})), Reason::not_found);
}

TEST_F(SqliteStore, TheLogHasNumbersWithoutGaps) {
  const std::string id = add("one");
  EXPECT_EQ(store->commit({.session_id = id, .entries = {{.kind = "a"}, {.kind = "event"}}})->last_number, 2);
  // A refused change leaves no gap.
  EXPECT_FALSE(store->commit({.session_id = id, .expected_version = 7, .entries = {{.kind = "x"}}}).has_value());
  const auto committed = store->commit({.session_id = id, .entries = {{.kind = "b", .body = Json{{"n", 1}}}}});
  EXPECT_EQ(committed->last_number, 3);
  EXPECT_EQ(committed->version, 1) << "the log alone is not a change of the session";
  const auto all = store->read_log(id, 0, 10);
  ASSERT_EQ(all->size(), 3U);
  EXPECT_EQ(all->at(2).number, 3);
  EXPECT_EQ(all->at(2).body, (Json{{"n", 1}}));
  EXPECT_EQ(store->read_log(id, 0, 10, "facts")->size(), 2U);
  EXPECT_EQ(store->read_log(id, 0, 10, "event")->at(0).number, 2);
  EXPECT_EQ(store->read_log(id, 1, 1)->at(0).number, 2);
}

TEST_F(SqliteStore, PagesAreInTheOrderOfTheLastChange) {
  const std::string first = add("1");
  for (const char* text : {"2", "3", "4"}) add(text);
  ASSERT_TRUE(store->commit({.session_id = first, .session = saying("1 again")}).has_value());
  SessionQuery query = {.limit = 3};
  EXPECT_EQ(titles(query), (std::vector<std::string>{"1 again", "4", "3"}));
  query.after = store->list(query)->next;
  EXPECT_EQ(titles(query), std::vector<std::string>{"2"});
  EXPECT_EQ(store->list(query)->next, "");
  query.after = "nonsense";
  EXPECT_FALSE(store->list(query).has_value());
}

TEST_F(SqliteStore, ListsAreFilteredByTenantAndStatus) {
  add("1", "a");
  add("2", "b");
  Session done = saying("3");
  done.status = SessionStatus::completed;
  ASSERT_TRUE(store->create({.session = done, .tenant = "b"}).has_value());
  EXPECT_EQ(titles({.tenant = "b"}), (std::vector<std::string>{"3", "2"}));
  EXPECT_EQ(titles({.status = SessionStatus::completed}), std::vector<std::string>{"3"});
  EXPECT_EQ(titles({.status = SessionStatus::idle, .tenant = "b"}), std::vector<std::string>{"2"});
  EXPECT_EQ(titles({.text = "2", .tenant = "a"}), std::vector<std::string>{});
}

TEST_F(SqliteStore, SearchFindsSessionsWithAllWords) {
  const std::string rome = add("Weather in Rome");
  add("Weather in Paris");
  EXPECT_EQ(titles({.text = "WEATHER rome"}), std::vector<std::string>{"Weather in Rome"});
  EXPECT_EQ(titles({.text = "weather"}).size(), 2U);
  EXPECT_EQ(titles({.text = "rome paris"}).size(), 0U);
  // A session that grows is found by words of old and new messages together, and not by words that were replaced.
  Session longer = store->load(rome)->session;
  longer.thread.messages.push_back(assistant("Sunny"));
  ASSERT_TRUE(store->commit({.session_id = rome, .session = longer}).has_value());
  EXPECT_EQ(titles({.text = "sunny rome"}).size(), 1U);
  ASSERT_TRUE(store->commit({.session_id = rome, .session = saying("Snow in Oslo")}).has_value());
  EXPECT_EQ(titles({.text = "rome"}).size(), 0U);
  EXPECT_EQ(titles({.text = "sunny"}).size(), 0U);
  EXPECT_EQ(titles({.text = "snow"}).size(), 1U);
  ASSERT_TRUE(store->remove(rome).has_value());
  EXPECT_EQ(titles({.text = "snow"}).size(), 0U);
}

TEST_F(SqliteStore, TheSyntaxOfTheIndexHasNoMeaningInASearch) {
  add("say \"hello\" AND (bye)*");
  for (const std::string text : {"\"", "hello\"", "AND", "(bye", "bye)*", "text:hello", "NEAR(", "-hello", "^say", "''",
                                 "hello\" OR \"x", "*", "a^", "\xFF\xFE", "hello;"}) {
    EXPECT_TRUE(store->list({.text = text}).has_value()) << text;
  }
  EXPECT_EQ(titles({.text = "\"hello\" ... (bye)"}).size(), 1U);
  EXPECT_EQ(titles({.text = std::string("hello\0bye", 9)}).size(), 1U);
  EXPECT_EQ(titles({.text = "hello OR missing"}).size(), 0U);
}

TEST_F(SqliteStore, ALeaseKeepsOthersOut) {
  const std::string id = add("one");
  const auto lease = store->acquire(id, 1h);
  ASSERT_TRUE(lease.has_value()) << lease.error().message();
  EXPECT_EQ(reason_of(store->acquire(id, 1h)), Reason::leased);
  EXPECT_EQ(reason_of(store->remove(id)), Reason::leased);
  EXPECT_EQ(reason_of(store->commit({.session_id = id})), Reason::leased);
  EXPECT_EQ(reason_of(store->commit({.session_id = id, .fence = lease->fence + 1})), Reason::fenced);
  EXPECT_TRUE(store->commit({.session_id = id, .fence = lease->fence}).has_value());
  EXPECT_TRUE(store->commit({.session_id = id, .fence = lease->fence, .release = true}).has_value());
  EXPECT_EQ(reason_of(store->commit({.session_id = id, .fence = lease->fence})), Reason::fenced);
  EXPECT_EQ(reason_of(store->renew(*lease, 1h)), Reason::fenced);
  EXPECT_TRUE(store->commit({.session_id = id}).has_value());
  EXPECT_TRUE(store->release(*lease).has_value());
}

TEST_F(SqliteStore, AnExpiredLeaseIsFencedOffAndCanBeRenewedUntilSomebodyElseTakesIt) {
  const std::string id = add("one");
  const auto old = store->acquire(id, 0ms);
  EXPECT_EQ(reason_of(store->commit({.session_id = id, .fence = old->fence})), Reason::fenced);
  ASSERT_TRUE(store->renew(*old, 0ms).has_value());
  const auto taken = store->acquire(id, 1h);
  ASSERT_TRUE(taken.has_value());
  EXPECT_GT(taken->fence, old->fence);
  EXPECT_EQ(reason_of(store->renew(*old, 1h)), Reason::fenced);
  ASSERT_TRUE(store->release(*old).has_value());
  EXPECT_EQ(reason_of(store->acquire(id, 1h)), Reason::leased) << "the old holder cannot release the new lease";
}

TEST_F(SqliteStore, FencesGrowWhenASessionIsCreatedAgain) {
  const std::string id = add("one");
  const auto old = store->acquire(id, 0ms);
  ASSERT_TRUE(store->remove(id).has_value());
  ASSERT_TRUE(store->create({.session = saying("two", id)}).has_value());
  const auto lease = store->acquire(id, 1h);
  EXPECT_GT(lease->fence, old->fence);
  EXPECT_EQ(reason_of(store->commit({.session_id = id, .fence = old->fence})), Reason::fenced);
}

TEST_F(SqliteStore, RemovingASessionRemovesItsLogAndJobs) {
  const std::string id = add("one");
  ASSERT_TRUE(store->commit({.session_id = id, .entries = {{.kind = "a"}}}).has_value());
  ASSERT_TRUE(store->submit({.session_id = id}).has_value());
  ASSERT_TRUE(store->remove(id).has_value());
  EXPECT_EQ(reason_of(store->remove(id)), Reason::not_found);
  EXPECT_EQ(reason_of(store->read_log(id, 0, 1)), Reason::not_found);
  EXPECT_EQ(store->count_jobs()->ready, 0U);
  ASSERT_TRUE(store->create({.session = saying("two", id)}).has_value());
  EXPECT_TRUE(store->read_log(id, 0, 1)->empty());
}

TEST_F(SqliteStore, WaitingForTheLogNoticesThisStoreAndOthers) {
  const std::string id = add("one");
  EXPECT_FALSE(*store->wait_for_log(id, 0, 1ms));
  const std::shared_ptr<Store> other = open_or_fail(folder.file());
  std::int64_t number = 0;
  for (const auto& writer : {store, other}) {
    std::thread writing([&] { EXPECT_TRUE(writer->commit({.session_id = id, .entries = {{.kind = "a"}}})); });
    EXPECT_TRUE(*store->wait_for_log(id, number++, 60s));
    writing.join();
  }
  EXPECT_EQ(reason_of(store->wait_for_log("missing", 0, 1ms)), Reason::not_found);
}

TEST_F(SqliteStore, WaitingForTheLogNoticesOtherProcesses) {
  const std::string id = add("one");
  std::string path = folder.file();
  std::thread writing([&] {
    EXPECT_EQ(status_in_child([&] {
                const auto mine = open_sqlite_store({.path = path});
                return mine && (*mine)->commit({.session_id = id, .entries = {{.kind = "a"}}}) ? 0 : 1;
              }),
              0);
  });
  EXPECT_TRUE(*store->wait_for_log(id, 0, 60s));
  writing.join();
}

TEST_F(SqliteStore, ManyThreadsChangeOneSession) {
  const std::string id = add("one");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 5; ++n) {
        EXPECT_TRUE(store->commit({.session_id = id, .entries = {{.kind = "a"}}, .session = saying("x")}));
        EXPECT_TRUE(store->load(id).has_value());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store->load(id)->version, 21);
  EXPECT_EQ(store->read_log(id, 0, 100)->back().number, 20);
}

// Entries of more than a thousand bytes share pages, so that a commit writes little.
TEST_F(SqliteStore, ACommitOfALongEntryWritesFewPages) {
  const std::string id = add("Hello");
  const std::filesystem::path log = folder.file("store.db-wal");
  const auto before = std::filesystem::file_size(log);
  constexpr int kCommits = 30;
  for (int i = 0; i < kCommits; ++i) {
    const Json body = {{"text", std::string(1'200, 'x')}};
    ASSERT_TRUE(store->commit({.session_id = id, .entries = {{.kind = "finished", .body = body}}}).has_value());
  }
  constexpr std::uintmax_t kFrame = 4'096 + 24;
  EXPECT_LE(std::filesystem::file_size(log) - before, kCommits * 2 * kFrame);
}

TEST_F(SqliteStore, ARemovedSessionLeavesNoEntriesToTheNextOne) {
  const std::string other = add("Other");
  const std::string id = add("Hello");
  for (const std::string& each : {other, id}) {
    ASSERT_TRUE(store->commit({.session_id = each, .entries = {{.kind = "a"}, {.kind = "b"}}}).has_value());
  }
  ASSERT_TRUE(store->remove(id).has_value());
  EXPECT_EQ(store->read_log(other, 0, 10)->size(), 2U);
  const std::string next = add("Next");
  EXPECT_TRUE(store->read_log(next, 0, 10)->empty());
  EXPECT_EQ(store->commit({.session_id = next, .entries = {{.kind = "c"}}})->last_number, 1);
  EXPECT_TRUE(store->read_log(next, std::numeric_limits<std::int64_t>::max(), 10)->empty());
  EXPECT_EQ(store->read_log(next, -1, 10)->size(), 1U);
}

TEST_F(SqliteStore, SessionsOfEarlierFormatVersionsAreKept) {
  std::ifstream file(ALLM_SOURCE_DIR "/tests/data/written_by_0_1.txt");
  std::size_t count = 0;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("session ")) continue;
    Result<Session> session = from_json<Session>(line.substr(8));
    ASSERT_TRUE(session.has_value()) << session.error().message();
    session->id = "written by 0.1, " + std::to_string(count++);
    ASSERT_TRUE(store->create({.session = *session}).has_value());
    EXPECT_EQ(store->load(*session->id)->session, *session);
  }
  EXPECT_GT(count, 0U);
  std::ifstream reference(ALLM_SOURCE_DIR "/tests/data/session200.json");
  const std::string text(std::istreambuf_iterator<char>(reference), {});
  Result<Session> session = from_json<Session>(text);
  ASSERT_TRUE(session.has_value()) << session.error().message();
  const auto created = store->create({.session = *session});
  ASSERT_TRUE(created.has_value()) << created.error().message();
  EXPECT_EQ(store->load(*created->session.id)->session, created->session);
}

}  // namespace
}  // namespace allm::testing::sqlite_store_test
