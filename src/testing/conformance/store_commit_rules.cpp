// Rules of commit and of the log.
#include <atomic>
#include <thread>

#include "testing/conformance/store_check.hpp"

namespace allm::conformance {
namespace {

std::vector<std::string> texts_of(const std::vector<LogEntry>& entries) {
  std::vector<std::string> texts;
  texts.reserve(entries.size());
  for (const LogEntry& entry : entries) texts.push_back(entry.body.value("text", "?"));
  return texts;
}

void versions_increase_by_one(StoreCheck& check) {
  const std::string id = check.create();
  for (std::int64_t version = 2; version <= 4; ++version) {
    const auto committed = check.value(check.a().commit({.session_id = id, .session = session_saying("x")}), "commit");
    check.expect(committed.version == version, "a change of the session did not increase its version by 1");
  }
  const auto logged = check.value(check.b().commit(append_commit(id, {"x"})), "a commit of an entry only");
  check.expect(logged.version == 4, "a commit without a session has changed the version");
  const StoredSession loaded = check.value(check.b().load(id), "load");
  check.expect(loaded.version == 4, "load returns another version than commit did");
  check.expect(loaded.session.id == id, "the id of the session is not set after a commit of a session without an id");
}

void a_stale_writer_gets_conflict(StoreCheck& check) {
  const std::string id = check.create("first");
  const std::int64_t job = check.submit(id);
  check.value(check.a().commit({.session_id = id, .expected_version = 1, .session = session_saying("second")}),
              "a commit with the right version");
  Commit stale = append_commit(id, {"stale"});
  stale.expected_version = 1;
  stale.session = session_saying("stale");
  stale.finished_job = job;
  check.refused(check.b().commit(stale), StoreReason::conflict, "a commit with an old version");
  stale.expected_version = 3;
  check.refused(check.b().commit(stale), StoreReason::conflict, "a commit with a future version");
  const StoredSession kept = check.value(check.a().load(id), "load");
  check.expect(kept.version == 2 && kept.session.thread.messages[0].text() == "second",
               "a refused commit has overwritten the session");
  check.expect(check.value(check.a().read_log(id, 0, 10), "read_log").empty(), "a refused commit has changed the log");
  check.expect(check.claim(check.a()).id == job, "a refused commit has finished a job");
}

void one_of_many_writers_wins(StoreCheck& check) {
  const std::string id = check.create();
  std::atomic<std::int64_t> wins = 0;
  const auto rounds = static_cast<std::int64_t>(check.options().rounds);
  check.on_threads([&](Store& store, std::size_t thread) -> std::string {
    for (std::int64_t version = 1; version <= rounds; ++version) {
      Commit commit = append_commit(id, {std::to_string(version)});
      commit.expected_version = version;
      commit.session = session_saying("thread " + std::to_string(thread));
      const auto committed = store.commit(commit);
      if (committed) {
        ++wins;
      } else if (!committed.error().is<StoreError>(StoreReason::conflict)) {
        return "a commit that competes with others failed: " + committed.error().message();
      }
    }
    return {};
  });
  check.expect(wins == rounds, "of several commits with the same expected version not exactly one succeeded: " +
                                   std::to_string(wins) + " successes for " + std::to_string(rounds) + " versions");
  const auto log = check.value(check.a().read_log(id, 0, check.options().rounds + 1), "read_log");
  for (std::size_t i = 0; i < log.size(); ++i) {
    check.expect(log[i].body.value("text", "") == std::to_string(i + 1), "entries of refused commits are in the log");
  }
  check.expect(log.size() == check.options().rounds, "the log does not have one entry for each version");
}

void log_numbers_have_no_gaps(StoreCheck& check) {
  const std::string id = check.create();
  const auto first = check.value(check.a().commit(append_commit(id, {"1", "2", "3"})), "commit");
  const auto second = check.value(check.b().commit(append_commit(id, {"4", "5"})), "commit");
  check.expect(first.last_number == 3 && second.last_number == 5, "commit returns a wrong number of the last entry");
  const auto log = check.value(check.a().read_log(id, 0, 10), "read_log");
  check.expect(texts_of(log) == std::vector<std::string>{"1", "2", "3", "4", "5"},
               "read_log does not return the entries in the order of the commits");
  for (std::size_t i = 0; i < log.size(); ++i) {
    check.expect(log[i].number == static_cast<std::int64_t>(i) + 1, "the numbers of the log are not 1, 2, 3, …");
    check.expect(log[i].kind == "event" && log[i].at > StoreTime(), "an entry has no time or another kind");
  }
}

void the_log_is_read_in_pages(StoreCheck& check) {
  const std::string id = check.create();
  check.value(check.a().commit(append_commit(id, {"1", "2", "3", "4", "5"})), "commit");
  using Texts = std::vector<std::string>;
  check.expect(texts_of(check.value(check.b().read_log(id, 0, 2), "read_log")) == Texts{"1", "2"},
               "read_log does not keep to its limit");
  check.expect(texts_of(check.value(check.b().read_log(id, 2, 2), "read_log")) == Texts{"3", "4"},
               "read_log does not continue after the given number");
  check.expect(texts_of(check.value(check.b().read_log(id, 4, 2), "read_log")) == Texts{"5"},
               "read_log does not return the last entry");
  check.expect(check.value(check.b().read_log(id, 5, 2), "read_log").empty(),
               "read_log returns entries after the last");
}

void facts_and_events_are_told_apart(StoreCheck& check) {
  const std::string id = check.create();
  Commit commit{.session_id = id};
  for (const char* kind : {"run_started", "event", "response", "event", "run_ended"}) {
    commit.entries.push_back({.kind = kind, .body = {{"text", kind}}});
  }
  check.value(check.a().commit(commit), "commit");
  using Texts = std::vector<std::string>;
  check.expect(texts_of(check.value(check.b().read_log(id, 0, 10, "facts"), "read_log")) ==
                   Texts{"run_started", "response", "run_ended"},
               "read_log of facts does not return exactly the entries that are not events");
  const auto events = check.value(check.b().read_log(id, 2, 10, "event"), "read_log");
  check.expect(events.size() == 1 && events[0].number == 4, "read_log of events does not return exactly the events");
  check.expect(texts_of(check.value(check.b().read_log(id, 0, 10, "response"), "read_log")) == Texts{"response"},
               "read_log of a kind does not return exactly the entries of the kind");
  check.expect(check.value(check.b().read_log(id, 1, 1, "facts"), "read_log").size() == 1,
               "the limit of read_log counts entries of other kinds");
}

void entries_of_many_writers_are_kept(StoreCheck& check) {
  const std::string id = check.create();
  const std::size_t rounds = check.options().rounds;
  check.on_threads([&](Store& store, std::size_t) -> std::string {
    for (std::size_t i = 0; i < rounds; ++i) {
      const auto committed = store.commit(append_commit(id, {"x", "y"}));
      if (!committed) return "a commit that appends beside others failed: " + committed.error().message();
    }
    return {};
  });
  const std::size_t expected = 2 * rounds * check.options().threads;
  const auto log = check.value(check.a().read_log(id, 0, expected + 1), "read_log");
  check.expect(log.size() == expected, "entries of several writers were lost");
  for (std::size_t i = 0; i < log.size(); ++i) {
    check.expect(log[i].number == static_cast<std::int64_t>(i) + 1, "the numbers have gaps after several writers");
    check.expect(log[i].body.value("text", "") == (i % 2 == 0 ? "x" : "y"), "the entries of two commits are mixed");
  }
}

void wait_for_log_notices_other_handles(StoreCheck& check) {
  const std::string id = check.create();
  check.expect(!check.value(check.b().wait_for_log(id, 0, std::chrono::milliseconds(1)), "wait_for_log"),
               "wait_for_log returns true although the log has no such entry");
  for (std::int64_t number = 1; number <= 3; ++number) {
    bool noticed = false;
    std::thread waiter(
        [&] { noticed = check.b().wait_for_log(id, number - 1, check.options().timeout).value_or(false); });
    const auto committed = check.a().commit(append_commit(id, {"x"}));
    waiter.join();
    check.value(committed, "commit");
    check.expect(noticed, "wait_for_log does not notice an entry that another handle has committed");
  }
  check.expect(check.value(check.b().wait_for_log(id, 2, std::chrono::milliseconds(0)), "wait_for_log"),
               "wait_for_log returns false although the log has the entry");
}

}  // namespace

std::vector<StoreRule> store_commit_rules() {
  return {{"versions_increase_by_one", versions_increase_by_one},
          {"a_stale_writer_gets_conflict", a_stale_writer_gets_conflict},
          {"one_of_many_writers_wins", one_of_many_writers_wins},
          {"log_numbers_have_no_gaps", log_numbers_have_no_gaps},
          {"the_log_is_read_in_pages", the_log_is_read_in_pages},
          {"facts_and_events_are_told_apart", facts_and_events_are_told_apart},
          {"entries_of_many_writers_are_kept", entries_of_many_writers_are_kept},
          {"wait_for_log_notices_other_handles", wait_for_log_notices_other_handles}};
}

}  // namespace allm::conformance
