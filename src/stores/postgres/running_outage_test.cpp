// 100 running sessions, with tools and model calls, while the server restarts or connections break: all of them end
// like an undisturbed one, and nothing is done twice.
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/fake.hpp"
#include "allm/session_runner.hpp"

#include "stores/work/session_worker.hpp"
#include "tests/stores/cutting_proxy.hpp"
#include "tests/stores/postgres_server.hpp"

namespace allm::testing::postgres_running_outage_test {
namespace {

using namespace std::chrono_literals;

constexpr int kSteps = 3;  // with two tool calls each; then the last answer

// What was really done, counted outside of the store.
class Counts {
 public:
  void add(const std::string& what) {
    const std::lock_guard lock(mutex_);
    ++counts_[what];
  }
  int of(const std::string& what) {
    const std::lock_guard lock(mutex_);
    return counts_[what];
  }
  // Tool calls that have begun, and sessions of which one has, over all sessions.
  std::atomic<int> begun = 0;
  std::atomic<int> sessions = 0;
  // Calls of the last step wait for it, so that no session ends before.
  std::atomic<bool> may_end = false;

 private:
  std::mutex mutex_;
  std::map<std::string, int> counts_;
};

// The name of what a session does in a step.
std::string in(const std::string& session, const std::string& what) { return session + " " + what; }

std::shared_ptr<Adapter> model(const std::shared_ptr<Counts>& counts) {
  return fake([counts](const AdapterCall& call) -> FakeCallScript {
    const MessageList& messages = call.request.messages;
    const auto step =
        std::ranges::count_if(messages, [](const Message& message) { return message.role == Role::assistant; });
    counts->add(in(messages.front().text(), "model " + std::to_string(step)));
    if (step == kSteps) return {fake_text("Done."), fake_finish(FinishReason::stop)};
    const std::string number = std::to_string(step);
    return {fake_text("Two."), fake_tool_call("once" + number, "once"), fake_tool_call("again" + number, "again"),
            fake_finish(FinishReason::tool_calls)};
  });
}

Engine engine(const std::shared_ptr<Counts>& counts) {
  const auto handler = [counts](const Json& /*arguments*/, const ToolContext& context) {
    counts->add(in(context.session_id().value_or(""), context.tool_call().id));
    if (context.tool_call().id == "once0") ++counts->sessions;
    ++counts->begun;
    counts->begun.notify_all();
    if (context.tool_call().id == "once" + std::to_string(kSteps - 1)) counts->may_end.wait(false);
    return ok("noted");
  };
  return Engine(
      {.adapter = model(counts),
       .tools = {{.name = "once", .handler = handler, .timeout = 10min},
                 {.name = "again", .handler = handler, .timeout = 10min, .on_interrupted = OnInterrupted::retry}}});
}

// The thread as one text. A call that was interrupted and must not run again may say so.
std::string text_of(const Session& session) {
  std::string text;
  for (const Message& message : session.thread.messages) {
    const bool was_interrupted = message.tool_call_id.value_or("").starts_with("once") &&
                                 message.text().find("may have had effects") != std::string::npos;
    text += message.tool_call_id.value_or("") + ":" + (was_interrupted ? "\"noted\"" : message.text()) + "\n";
  }
  return text.substr(text.find('\n'));  // the first message is the name of the session
}

class RunningSessions {
 public:
  explicit RunningSessions(int count) : database_(shared_postgres().new_database()) {
    const std::shared_ptr<Store> store = direct();
    const std::shared_ptr<Store> memory = open_store("memory:").value();
    const auto counts = std::make_shared<Counts>();
    counts->may_end = true;
    memory->create({.session = {.id = "x", .thread = {user("x")}}}).value();
    undisturbed_ = text_of(SessionRunner(engine(counts), memory).start("x").value().session);
    for (int i = 0; i < count; ++i) {
      const std::string id = "s" + std::to_string(i);
      store->create({.session = {.id = id, .thread = {user(id)}}}).value();
      store->submit({.session_id = id, .order = {{"start", true}}}).value();
      ids_.push_back(id);
    }
  }

  const std::string& url() const { return database_; }
  std::string name() const { return database_.substr(database_.rfind('/') + 1); }
  std::shared_ptr<Store> direct() const { return open_store(database_).value(); }
  int size() const { return static_cast<int>(ids_.size()); }
  int tool_calls() const { return 2 * kSteps * size(); }
  int errors() const { return errors_; }

  // Runs all sessions at once; workers take over those whose run ends with an error. `disturb` is called when each
  // session has begun, and half of all tool calls. It is given a function that lets sessions end.
  template <typename Disturb>
  void run(const std::string& url, std::chrono::milliseconds lease, const Disturb& disturb) {
    const std::shared_ptr<Store> store = open_store(url).value();
    SessionWorkerOptions options{.jobs = ids_.size(), .claim = {.lease = lease}, .until_empty = true};
    options.on_job = [this](const WorkedJob& job) {
      if (!job.error) return;
      ++errors_;
      const auto* error = job.error->get_if<StoreError>();
      const bool is_expected = error != nullptr && (error->reason == StoreError::Reason::unavailable ||
                                                    error->reason == StoreError::Reason::fenced);
      EXPECT_TRUE(is_expected) << job.error->message();
    };
    std::atomic<bool> ended = false;
    options.on_end = [&] {
      ended = true;
      ended.notify_all();
    };
    SessionWorker worker(SessionRunner(engine(counts_), store, {.lease = lease}), store, options);
    for (int now = counts_->begun; counts_->sessions < size() || now < tool_calls() / 2; now = counts_->begun) {
      counts_->begun.wait(now);
    }
    disturb([this] {
      counts_->may_end = true;
      counts_->may_end.notify_all();
    });
    ended.wait(false);
  }

  // Each session is complete, and nothing was done twice.
  void check() {
    const std::shared_ptr<Store> store = direct();
    for (const std::string& id : ids_) {
      SCOPED_TRACE(id);
      const auto stored = store->load(id);
      ASSERT_TRUE(stored) << stored.error().message();
      EXPECT_EQ(stored->session.status, SessionStatus::completed);
      EXPECT_FALSE(has_open_run(stored->session));
      EXPECT_EQ(text_of(stored->session), undisturbed_);
      EXPECT_EQ(store->read_log(id, 0, 100, "run_ended").value().size(), 1U);
      for (int step = 0; step <= kSteps; ++step) {
        // A response that was received just before a run lost its session is not recorded, and is paid again.
        const int asked = counts_->of(in(id, "model " + std::to_string(step)));
        EXPECT_GE(asked, 1) << step;
        if (errors_ == 0) {
          EXPECT_EQ(asked, 1) << step;
        }
        const int ran = counts_->of(in(id, "once" + std::to_string(step)));
        EXPECT_LE(ran, 1) << step;
      }
      expect_recorded_once(*store, id);
    }
    const auto counts = store->count_jobs().value();
    EXPECT_EQ(counts.ready + counts.delayed + counts.running, 0U);
  }

 private:
  // A response is recorded once, and so is the outcome of a call; a call that must not be repeated is started once.
  static void expect_recorded_once(Store& store, const std::string& id) {
    std::map<std::string, int> facts;
    const auto log = store.read_log(id, 0, 1'000, "facts").value();
    for (const LogEntry& entry : log) {
      if (entry.kind == "response") ++facts["response " + entry.body["step"].dump()];
      if (entry.kind == "finished") ++facts["finished " + entry.body["call_id"].dump()];
      if (entry.kind == "dispatched" && entry.body["name"] == "once") ++facts["once " + entry.body["call_id"].dump()];
    }
    for (const auto& [fact, count] : facts) EXPECT_EQ(count, 1) << fact;
    EXPECT_EQ(facts.size(), static_cast<std::size_t>(kSteps + 1 + 2 * kSteps + kSteps));
  }

  const std::string database_;
  const std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
  std::vector<std::string> ids_;
  std::string undisturbed_;
  std::atomic<int> errors_ = 0;
};

const auto restart_server = [](const auto& let_sessions_end) {
  shared_postgres().stop(PostgresServer::Stop::immediate);
  let_sessions_end();
  shared_postgres().start();
};

TEST(PostgresOutageOfRuns, AllFinishWhenTheServerRestartsInTheirMiddle) {
  RunningSessions sessions(100);
  sessions.run(sessions.url() + "?allm_retry_ms=120000", 2min, restart_server);
  sessions.check();
  // The runs wait for the server: none of them has to be taken over.
  EXPECT_EQ(sessions.errors(), 0);
}

// With hardly any patience in the store, the runs themselves bridge the time without a server.
TEST(PostgresOutageOfRuns, AllFinishWhenTheStoreDoesNotWaitForTheServer) {
  RunningSessions sessions(100);
  sessions.run(sessions.url() + "?allm_retry_ms=1", 2min, restart_server);
  sessions.check();
  EXPECT_EQ(sessions.errors(), 0);
}

TEST(PostgresOutageOfRuns, AllFinishWhenConnectionsAreCutAtRandom) {
  RunningSessions sessions(100);
  CuttingProxy proxy(shared_postgres().socket(), 4);
  sessions.run(proxy.url(sessions.name()) + "&allm_retry_ms=120000", 2min, [&](const auto& let_sessions_end) {
    proxy.cut_after(200, 8'000);
    run_sql(sessions.url(),
            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()");
    let_sessions_end();
  });
  sessions.check();
  EXPECT_EQ(sessions.errors(), 0);
  EXPECT_GT(proxy.cuts(), 10);
}

}  // namespace
}  // namespace allm::testing::postgres_running_outage_test
