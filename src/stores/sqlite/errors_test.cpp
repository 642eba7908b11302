// What goes wrong with real files: each time a clear error, and nothing else is damaged.
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <vector>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "stores/sqlite/schema.hpp"
#include "stores/sqlite/store_fixture.hpp"

namespace allm::testing::sqlite_errors_test {
namespace {

using namespace std::chrono_literals;
using Reason = StoreError::Reason;

// Runs SQL on the file as another program would.
std::string edit(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  char* message = nullptr;
  sqlite3_open(path.c_str(), &database);
  sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &message);
  const std::string error = message != nullptr ? message : "";
  sqlite3_free(message);
  sqlite3_close(database);
  return error;
}

struct SqliteErrors : ::testing::Test {
  TestFolder folder;
  std::string path = folder.file();

  void expect_error(const Result<std::shared_ptr<Store>>& opened, Reason reason, const std::string& words) {
    EXPECT_EQ(reason_of(opened), reason);
    if (opened) return;
    EXPECT_NE(opened.error().message().find(words), std::string::npos) << opened.error().message();
    EXPECT_NE(opened.error().message().find(folder.path().string()), std::string::npos) << opened.error().message();
  }
  void fill(int count) {
    const auto store = open_or_fail(path);
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(store->create({.session = saying("text " + std::string(3000, 'x'), "s" + std::to_string(i))}));
    }
  }
};

TEST_F(SqliteErrors, APathThatCannotBeAFile) {
  expect_error(open_store("sqlite:" + folder.path().string()), Reason::invalid_url, "is a folder");
  expect_error(open_store("sqlite:" + folder.file("missing/store.db")), Reason::invalid_url, "folder does not exist");
  ASSERT_EQ(mkfifo(folder.file("pipe").c_str(), 0600), 0);
  expect_error(open_store("sqlite:" + folder.file("pipe")), Reason::invalid_url, "not a regular file");
  std::filesystem::create_symlink(folder.file("nowhere"), folder.file("link"));
  expect_error(open_store("sqlite:" + folder.file("link")), Reason::invalid_url, "symbolic link");
  EXPECT_EQ(reason_of(open_store("sqlite:")), Reason::invalid_url);
  EXPECT_EQ(reason_of(open_store("sqlite::memory:")), Reason::invalid_url);
}

TEST_F(SqliteErrors, AFileThatIsNotADatabaseStaysAsItIs) {
  const std::string text(10'000, 'n');
  std::ofstream(path) << text;
  expect_error(open_store("sqlite:" + path), Reason::corrupted, "not an SQLite database");
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), text);
}

TEST_F(SqliteErrors, ADatabaseOfAnotherProgramStaysAsItIs) {
  ASSERT_EQ(edit(path, "CREATE TABLE theirs (x)"), "");
  expect_error(open_store("sqlite:" + path), Reason::invalid_url, "another program");
  EXPECT_EQ(edit(path, "INSERT INTO theirs VALUES (1)"), "");
  EXPECT_EQ(edit(path, "SELECT * FROM sessions"), "no such table: sessions");
}

TEST_F(SqliteErrors, AFutureSchemaVersionIsRefused) {
  fill(1);
  ASSERT_EQ(edit(path, "PRAGMA user_version = 99"), "");
  expect_error(open_store("sqlite:" + path), Reason::future_version, "schema 99");
  ASSERT_EQ(edit(path, "PRAGMA user_version = " + std::to_string(sqlite::migrations().size())), "");
  EXPECT_TRUE(open_or_fail(path)->load("s0").has_value());
}

// Permissions do not bind the superuser, so the child becomes somebody else.
int opened_by_another_user(const std::string& path, Reason expected) {
  return status_in_child([&] {
    if (geteuid() == 0 && setuid(65534) != 0) return 2;
    const auto opened = open_store("sqlite:" + path);
    return !opened && opened.error().is<StoreError>(expected) ? 0 : 1;
  });
}

TEST_F(SqliteErrors, AReadOnlyFileOrFolder) {
  fill(1);
  ASSERT_EQ(chmod(path.c_str(), 0444), 0);
  ASSERT_EQ(chmod(folder.path().c_str(), 0777), 0);
  EXPECT_EQ(opened_by_another_user(path, Reason::read_only), 0) << "the file";
  ASSERT_EQ(chmod(path.c_str(), 0666), 0);
  ASSERT_EQ(chmod(folder.path().c_str(), 0555), 0);
  EXPECT_EQ(opened_by_another_user(path, Reason::read_only), 0) << "the folder of an existing file";
  EXPECT_EQ(opened_by_another_user(folder.file("new.db"), Reason::read_only), 0) << "the folder of a new file";
  ASSERT_EQ(chmod(folder.path().c_str(), 0700), 0);
  EXPECT_TRUE(open_or_fail(path)->load("s0").has_value());
}

TEST_F(SqliteErrors, AFullDisk) {
  fill(3);
  const int status = status_in_child([&] {
    const auto store = open_store("sqlite:" + path);
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {.rlim_cur = 200'000, .rlim_max = 200'000};
    if (!store || setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
    const auto refused = (*store)->create({.session = saying(std::string(500'000, 'x'), "large")});
    if (refused || !refused.error().is<StoreError>(Reason::full)) return 3;
    // Reading goes on, and so do changes that fit.
    if (!(*store)->load("s0") || (*store)->load("large")) return 4;
    return (*store)->commit({.session_id = "s1", .entries = {{.kind = "small"}}}) ? 0 : 5;
  });
  EXPECT_EQ(status, 0);
  const auto store = open_or_fail(path);
  EXPECT_EQ(store->list({})->sessions.size(), 3U);
  EXPECT_EQ(store->read_log("s1", 0, 10)->size(), 1U);
  EXPECT_TRUE(store->create({.session = saying(std::string(500'000, 'x'), "large")}).has_value());
}

TEST_F(SqliteErrors, ADatabaseThatAnotherProcessKeepsLocked) {
  fill(1);
  int ready[2] = {};
  int end[2] = {};
  ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
  ASSERT_EQ(pipe2(end, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    sqlite3* database = nullptr;
    sqlite3_open(path.c_str(), &database);
    if (sqlite3_exec(database, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) != SQLITE_OK) _exit(1);
    char byte = 'r';
    (void)!write(ready[1], &byte, 1);
    (void)!read(end[0], &byte, 1);
    _exit(0);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  const auto store = open_sqlite_store({.path = path, .busy_timeout = 20ms});
  ASSERT_TRUE(store.has_value()) << store.error().message();
  const Commit change = {.session_id = "s0", .entries = {{.kind = "a"}}};
  const auto refused = (*store)->commit(change);
  EXPECT_EQ(reason_of(refused), Reason::unavailable);
  EXPECT_NE(refused.error().message().find("another process"), std::string::npos) << refused.error().message();
  EXPECT_TRUE((*store)->load("s0").has_value()) << "reading does not need the lock";
  ASSERT_EQ(write(end[1], &byte, 1), 1);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ((*store)->commit(change)->last_number, 1);
  for (const int fd : {ready[0], ready[1], end[0], end[1]}) close(fd);
}

TEST_F(SqliteErrors, ADamagedPage) {
  fill(40);
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    const std::size_t state = bytes.find("\"id\":\"s20\"");
    ASSERT_NE(state, std::string::npos);
    file.seekp(static_cast<std::streamoff>(state / 4096 * 4096));
    file << std::string(4096, '\xA5');
  }
  const auto store = open_or_fail(path);
  int readable = 0;
  int damaged = 0;
  for (int i = 0; i < 40; ++i) {
    const auto loaded = store->load("s" + std::to_string(i));
    if (loaded) {
      ++readable;
    } else {
      EXPECT_EQ(reason_of(loaded), Reason::corrupted);
      EXPECT_NE(loaded.error().message().find("session store " + path), std::string::npos) << loaded.error().message();
      ++damaged;
    }
  }
  EXPECT_GT(readable, 20);
  EXPECT_GT(damaged, 0);
  EXPECT_EQ(store->list({})->sessions.size(), 40U);
}

TEST_F(SqliteErrors, ARowThatWasEditedByHand) {
  for (const std::string nonsense :
       {"UPDATE session_states SET state = 'nonsense' WHERE session = 2",
        "DELETE FROM session_states WHERE session = 2",
        "UPDATE session_states SET state = '{\"__type__\":\"ALLM.Session\",\"data\":7}' WHERE session = 2",
        "UPDATE session_states SET state = CAST(x'FF00FE' AS TEXT) WHERE session = 2"}) {
    SCOPED_TRACE(nonsense);
    path = folder.file(std::to_string(nonsense.size()) + ".db");
    fill(3);
    ASSERT_EQ(edit(path, nonsense + "; UPDATE sessions SET status = 'banana', indexed_bytes = 99999999 WHERE key = 2"),
              "");
    const auto store = open_or_fail(path);
    const auto bad = store->load("s1");
    EXPECT_EQ(reason_of(bad), Reason::corrupted);
    EXPECT_EQ(bad.error().get_if<StoreError>()->session_id, "s1");
    EXPECT_TRUE(store->load("s0").has_value());
    EXPECT_TRUE(store->load("s2").has_value());
    EXPECT_EQ(store->list({})->sessions.size(), 3U);
    EXPECT_EQ(store->list({.text = "text"})->sessions.size(), 3U);
    EXPECT_TRUE(store->remove("s1").has_value());
    EXPECT_EQ(store->list({.text = "text"})->sessions.size(), 2U);
  }
}

TEST_F(SqliteErrors, ALogEntryOrAnOrderThatWasEditedByHand) {
  fill(2);
  const auto store = open_or_fail(path);
  for (const char* id : {"s0", "s1"}) {
    ASSERT_TRUE(store->commit({.session_id = id, .entries = {{.kind = "a"}}}).has_value());
    ASSERT_TRUE(store->submit({.session_id = id}).has_value());
  }
  ASSERT_EQ(
      edit(path, "UPDATE session_log SET body = '{' WHERE session = 1; UPDATE jobs SET job_order = '{' WHERE id = 1"),
      "");
  EXPECT_EQ(reason_of(store->read_log("s0", 0, 10)), Reason::corrupted);
  EXPECT_TRUE(store->read_log("s1", 0, 10).has_value());
  EXPECT_EQ((*store->claim({}))->order, Json(nullptr)) << "the runner refuses it";
  EXPECT_EQ((*store->claim({}))->session_id, "s1") << "the queue goes on";
  EXPECT_FALSE(store->claim({})->has_value());
}

TEST_F(SqliteErrors, AForkedChildOpensTheStoreAgain) {
  fill(1);
  const auto store = open_or_fail(path);
  ASSERT_TRUE(store->load("s0").has_value());
  const int status = status_in_child([&] {
    const auto inherited = store->load("s0");
    if (inherited || inherited.error().message().find("forked") == std::string::npos) return 1;
    const auto mine = open_store("sqlite:" + path);
    return mine && (*mine)->commit({.session_id = "s0", .entries = {{.kind = "child"}}}) ? 0 : 2;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(store->read_log("s0", 0, 10)->size(), 1U) << "the parent goes on";
  EXPECT_TRUE(store->commit({.session_id = "s0", .entries = {{.kind = "parent"}}}).has_value());
}

}  // namespace
}  // namespace allm::testing::sqlite_errors_test
