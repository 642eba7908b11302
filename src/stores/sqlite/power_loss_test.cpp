// The SQLite store after a loss of power: at every sync point of a sequence of changes, unsynced writes are lost or
// torn. Every change that had returned is there afterwards, and of the one that was under way all or nothing.
#include <fcntl.h>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "allm/serialize.hpp"

#include "stores/sqlite/power_loss_vfs.hpp"
#include "stores/sqlite/store_fixture.hpp"
#include "tests/cases.hpp"

namespace allm::testing::power_loss_test {
namespace {

using namespace std::chrono_literals;

// Runs SQL beside the store, on the same disk. Returns the first value of the last row, or the error.
std::string run_sql(const std::string& path, const char* sql) {
  sqlite3* database = nullptr;
  sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE, PowerLossVfs::kName);
  std::string answer;
  char* error = nullptr;
  const auto keep_first = [](void* kept, int, char** values, char**) {
    *static_cast<std::string*>(kept) = values[0] != nullptr ? values[0] : "";
    return 0;
  };
  sqlite3_exec(database, sql, keep_first, &answer, &error);
  if (error != nullptr) answer = error;
  sqlite3_free(error);
  sqlite3_close(database);
  return answer;
}

// A store on a disk that can lose its power.
struct Machine {
  TestFolder folder;
  PowerLossDisk disk;
  PowerLossVfs vfs{disk};
  std::shared_ptr<Store> store;
  std::vector<Job> jobs;
  std::string error;  // of the last open

  bool open() {
    store = nullptr;
    auto opened = open_sqlite_store({.path = folder.file(), .vfs = PowerLossVfs::kName});
    if (opened) store = *opened;
    error = opened ? "" : opened.error().message();
    return opened.has_value();
  }
  void restart(UnsyncedWrites unsynced, std::mt19937& random) {
    store = nullptr;
    disk.restart(unsynced, random);
    unlink(folder.file("store.db-shm").c_str());
    // A file that is there again needs a real file for its locks.
    for (const std::string& path : disk.paths()) close(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  }
};

// One change. Returns whether the store said that it is made.
using Operation = std::function<bool(Machine&)>;

Operation create(const std::string& id, std::size_t bytes) {
  return [=](Machine& m) {
    return m.store->create({.session = saying(id + " " + std::string(bytes, 'x'), id), .tenant = id}).has_value();
  };
}

Operation commit(const std::string& id, const std::string& text) {
  return [=](Machine& m) {
    Session session = saying(text);
    session.thread.messages.push_back(assistant(std::string(9000, 'y')));
    const Json body = {{"text", std::string(2000, 'z')}};
    return m.store
        ->commit(
            {.session_id = id, .entries = {{.kind = "response", .body = body}, {.kind = "event"}}, .session = session})
        .has_value();
  };
}

Operation append(const std::string& id) {
  return [=](Machine& m) { return m.store->commit({.session_id = id, .entries = {{.kind = "event"}}}).has_value(); };
}

Operation submit(const std::string& id) {
  return [=](Machine& m) { return m.store->submit({.session_id = id}).has_value(); };
}

bool claim(Machine& m) {
  auto job = m.store->claim({.lease = 1h});
  if (job && *job) m.jobs.push_back(**job);
  return job.has_value();
}

bool finish(Machine& m) {
  const Job& job = m.jobs.back();
  return m.store
      ->commit({.session_id = job.session_id,
                .fence = job.lease.fence,
                .entries = {{.kind = "run_ended"}},
                .session = saying("finished"),
                .finished_job = job.id,
                .release = true})
      .has_value();
}

Operation remove(const std::string& id) {
  return [=](Machine& m) { return m.store->remove(id).has_value(); };
}

bool checkpoint(Machine& m) {
  return run_sql(m.folder.file(), "PRAGMA wal_checkpoint(RESTART)") == "0" && !m.disk.is_dead();
}

bool reopen(Machine& m) { return m.open() && !m.disk.is_dead(); }

std::vector<Operation> script() {
  return {reopen,
          create("a", 100),
          create("b", 30'000),
          commit("a", "one"),
          submit("a"),
          submit("b"),
          claim,
          append("b"),
          checkpoint,
          finish,
          claim,
          create("c", 10),
          append("c"),
          finish,
          commit("c", "two"),
          remove("b"),
          append("c"),
          reopen,
          commit("a", "three"),
          checkpoint,
          append("a"),
          commit("a", "four"),
          remove("c"),
          append("a")};
}

// What the store has: sessions, logs and jobs.
std::string contents(Store& store) {
  std::string text;
  const auto page = store.list({});
  if (!page) return page.error().message();
  for (const SessionSummary& summary : page->sessions) {
    const auto session = store.load(summary.id);
    if (!session) return session.error().message();
    text += summary.id + " " + std::to_string(session->version) + " " + to_json(session->session).value_or("?") + "\n";
    const auto log = store.read_log(summary.id, 0, 1000);
    if (!log) return log.error().message();
    std::int64_t number = 0;
    for (const LogEntry& entry : *log) {
      EXPECT_EQ(entry.number, ++number) << "a gap in the log of " << summary.id;
      text += entry.kind + " " + entry.body.dump() + "\n";
    }
  }
  const auto counts = store.count_jobs();
  if (!counts) return counts.error().message();
  return text + std::to_string(counts->ready) + " ready, " + std::to_string(counts->running) + " running";
}

struct Undisturbed {
  std::vector<std::string> contents = {};  // before each operation, and at the end
  std::size_t syncs = 0;
};

Undisturbed run_undisturbed() {
  Machine machine;
  Undisturbed run = {.contents = {"0 ready, 0 running"}};
  for (const Operation& operation : script()) {
    EXPECT_TRUE(operation(machine)) << "operation " << run.contents.size();
    run.contents.push_back(contents(*machine.store));
  }
  run.syncs = machine.disk.syncs();
  return run;
}

// How many operations returned before the power was lost.
std::size_t run_until_power_loss(Machine& machine, std::size_t sync) {
  machine.disk.lose_power_at(sync);
  std::size_t done = 0;
  for (const Operation& operation : script()) {
    if (!operation(machine)) break;
    ++done;
  }
  return done;
}

void check_after_power_loss(const Undisturbed& expected, std::size_t sync, UnsyncedWrites unsynced, unsigned seed) {
  Machine machine;
  std::mt19937 random(seed);
  const std::size_t done = run_until_power_loss(machine, sync);
  ASSERT_TRUE(machine.disk.is_dead());
  machine.restart(unsynced, random);
  ASSERT_TRUE(machine.open()) << machine.error;
  const std::string found = contents(*machine.store);
  EXPECT_TRUE(found == expected.contents[done] || found == expected.contents[done + 1])
      << "operation " << done << " was under way:\n"
      << found.substr(0, 2000);
  EXPECT_EQ(run_sql(machine.folder.file(), "PRAGMA integrity_check"), "ok");
  EXPECT_EQ(run_sql(machine.folder.file(), "INSERT INTO session_search(session_search) VALUES ('integrity-check')"),
            "");
  EXPECT_TRUE(machine.store->create({.session = saying("afterwards")}).has_value());
}

TEST(PowerLoss, NothingThatWasReportedIsLost) {
  const Undisturbed expected = run_undisturbed();
  ASSERT_GT(expected.syncs, 10U);
  for (std::size_t sync = 1; sync <= expected.syncs; ++sync) {
    SCOPED_TRACE("sync " + std::to_string(sync) + " of " + std::to_string(expected.syncs));
    check_after_power_loss(expected, sync, UnsyncedWrites::lost, 0);
    check_after_power_loss(expected, sync, UnsyncedWrites::kept, 0);
    for (int i = 0; i < cases(2); ++i) {
      const auto seed = static_cast<unsigned>(sync * 1000) + static_cast<unsigned>(i);
      check_after_power_loss(expected, sync, UnsyncedWrites::torn, seed);
    }
    if (HasFailure()) return;
  }
}

TEST(PowerLoss, AStoreThatDoesNotSyncIsFoundOut) {
  // The disk forgets: what is written without a sync is gone. So the test above can fail.
  PowerLossDisk disk;
  std::mt19937 random(1);
  DiskFile& file = disk.open("f");
  file.write(0, "safe");
  EXPECT_TRUE(disk.sync(file));
  file.write(0, "gone");
  file.write(600, std::string(2000, 'x'));
  DiskFile torn = file;
  torn.lose_power(UnsyncedWrites::torn, random);
  EXPECT_NE(torn.bytes(), file.bytes());
  disk.restart(UnsyncedWrites::lost, random);
  EXPECT_EQ(disk.open("f").bytes(), "safe");
}

}  // namespace
}  // namespace allm::testing::power_loss_test
