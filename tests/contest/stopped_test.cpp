// A process is stopped with SIGSTOP while it runs a session, past its lease. Another one takes the session over and
// completes it. When the first one goes on, it writes nothing, starts no tool and asks no model.
#include <chrono>
#include <csignal>
#include <fstream>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/serialize.hpp"
#include "allm/session_runner.hpp"

#include "stores/sqlite/store_fixture.hpp"
#include "tests/contest/contest.hpp"
#include "tests/stores/postgres_server.hpp"

namespace allm::contest_stopped_test {
namespace {

using namespace allm::contest;
using namespace std::chrono_literals;

// A session that a process runs, and where the process is stopped.
class StoppedSession {
 public:
  StoppedSession(std::shared_ptr<Store> store, std::string url, std::string effects, std::string lane,
                 std::string where)
      : store_(std::move(store)),
        url_(std::move(url)),
        effects_(std::move(effects)),
        lane_(std::move(lane)),
        where_(std::move(where)) {
    Session session{.thread = {user("Go.")}, .context = {{"effects", effects_}, {"waits", where_ == "tool"}}};
    id_ = store_->create({.session = std::move(session)}).value().session.id.value();
  }

  void start() { process_ = start_process({"run", url_, id_, lane_, where_}); }

  void wait_until_stopped() const {
    if (where_ == "tool") {
      while (count("stopped runs a") == 0 || count("stopped runs b") == 0) std::this_thread::sleep_for(2ms);
      ::kill(process_, SIGSTOP);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(process_, &status, WUNTRACED), process_);
    EXPECT_TRUE(WIFSTOPPED(status)) << where_ << status;
  }

  // Resumes the session when the lease of the stopped process is over.
  void take_over() {
    const Engine engine({.adapter = contest_model("other", effects_), .tools = contest_tools("other", "thread")});
    const SessionRunner runner(engine, store_);
    Result<StoredTurn> turn = runner.resume(id_);
    while (!turn && turn.error().is<StoreError>(StoreError::Reason::leased)) {
      std::this_thread::sleep_for(10ms);
      turn = runner.resume(id_);
    }
    ASSERT_TRUE(turn) << where_ << ": " << turn.error().message();
    EXPECT_EQ(turn->session.status, SessionStatus::completed);
    EXPECT_EQ(turn->session.thread.messages.back().text(), "Done.");
  }

  void go_on() {
    const std::string state = everything();
    const std::string effects = text_of(effects_);
    std::ofstream(effects_ + ".go").put('\n');
    ::kill(process_, SIGCONT);
    EXPECT_EQ(wait_for_exit(process_), 7) << where_ << ": it must end with `fenced`";
    EXPECT_EQ(everything(), state) << where_;
    EXPECT_EQ(text_of(effects_), effects) << where_;
    const bool had_started = where_ == "tool" || where_ == "finished";
    EXPECT_EQ(effects.find("stopped runs") != std::string::npos, had_started) << where_ << ":\n" << effects;
    // Each response was paid once. What may not be repeated ran at most once.
    for (const char* step : {"0", "1", "2"}) EXPECT_EQ(count_of_both(std::string("asks ") + step), 1) << where_ << step;
    EXPECT_LE(count_of_both("runs a"), 1) << where_;
    EXPECT_EQ(count_of_both("runs c"), 1) << where_;
  }

 private:
  int count(const std::string& line) const { return count_lines(effects_, line); }
  int count_of_both(const std::string& what) const { return count("stopped " + what) + count("other " + what); }

  // The session, its version and its log.
  std::string everything() const {
    const StoredSession stored = store_->load(id_).value();
    std::string text = std::to_string(stored.version) + " " + to_json(stored.session).value() + "\n";
    const auto entries = store_->read_log(id_, 0, 10'000).value();
    for (const LogEntry& entry : entries) {
      text += std::to_string(entry.number) + " " + entry.kind + " " + entry.body.dump() + "\n";
    }
    return text;
  }

  const std::shared_ptr<Store> store_;
  const std::string url_;
  const std::string effects_;
  const std::string lane_;
  const std::string where_;
  std::string id_;
  pid_t process_ = -1;
};

void expect_nothing_from_stopped_processes(const std::string& url, const std::string& lane) {
  const testing::TestFolder folder;
  const std::shared_ptr<Store> store = open_store(url).value();
  std::vector<StoppedSession> sessions;
  for (const char* where : {"tool", "dispatched", "start", "finished"}) {
    sessions.emplace_back(store, url, folder.file(where), lane, where);
  }
  for (StoppedSession& session : sessions) session.start();
  for (const StoppedSession& session : sessions) session.wait_until_stopped();
  for (StoppedSession& session : sessions) session.take_over();
  for (StoppedSession& session : sessions) session.go_on();
}

TEST(StoppedProcess, WritesNothingAndStartsNothingWhenItGoesOnOnSqlite) {
  const testing::TestFolder folder;
  for (const char* lane : {"thread", "worker"}) expect_nothing_from_stopped_processes("sqlite:" + folder.file(), lane);
}

TEST(StoppedProcess, WritesNothingAndStartsNothingWhenItGoesOnOnPostgres) {
  const std::string url = testing::shared_postgres().new_database();
  for (const char* lane : {"thread", "worker"}) expect_nothing_from_stopped_processes(url, lane);
}

}  // namespace
}  // namespace allm::contest_stopped_test
