// Queued sessions on PostgreSQL, each with a tool call, run by several workers.
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "allm/fake.hpp"
#include "allm/session_runner.hpp"

#include "stores/bench.hpp"
#include "stores/work/session_worker.hpp"
#include "tests/stores/postgres_server.hpp"

namespace allm::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSessions = 200;  // of a round

// Asks for the tool, then answers.
Engine engine_with_tool() {
  const auto model = fake([](const Request& request) -> FakeCallScript {
    if (request.messages.back().role == Role::tool) {
      return {fake_text("It is sunny."), fake_finish(FinishReason::stop)};
    }
    return {fake_tool_call("c0", "weather", {{"city", "Rome"}}), fake_finish(FinishReason::tool_calls)};
  });
  return Engine(
      {.adapter = model, .tools = {tool({.name = "weather", .handler = [](const Json&) { return ok("sunny"); }})}});
}

// Counts the jobs that have ended.
class Counter {
 public:
  void add(const WorkedJob& worked) {
    const std::lock_guard lock(mutex_);
    if (worked.error) {
      fmt::print(stderr, "a session failed: {}\n", worked.error->message());
      std::exit(1);
    }
    if (++done_ == kSessions) {
      end_ = Clock::now();
      changed_.notify_one();
    }
  }
  Clock::time_point wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ >= kSessions; });
    return end_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int done_ = 0;
  Clock::time_point end_ = {};
};

void queue_sessions(Store& store) {
  for (int i = 0; i < kSessions; ++i) {
    const std::string tenant = fmt::format("tenant{}", i % 3);
    const std::string id = *required(store.create({.tenant = tenant})).session.id;
    required(store.submit({.session_id = id, .order = {{"message", "What is the weather in Rome?"}}}));
  }
}

// Each worker has a store of its own, as if it were a process, and runs one session at a time.
double sessions_per_second(const std::vector<std::shared_ptr<Store>>& stores, int workers) {
  queue_sessions(*stores.front());
  Counter counter;
  std::vector<std::unique_ptr<SessionWorker>> running;
  const auto begin = Clock::now();
  for (int i = 0; i < workers; ++i) {
    const std::shared_ptr<Store>& store = stores[static_cast<std::size_t>(i)];
    running.push_back(std::make_unique<SessionWorker>(
        SessionRunner(engine_with_tool(), store), store,
        SessionWorkerOptions{.jobs = 1, .on_job = [&counter](const WorkedJob& worked) { counter.add(worked); }}));
  }
  const auto end = counter.wait();
  for (const auto& worker : running) worker->stop();
  return kSessions / std::chrono::duration<double>(end - begin).count();
}

}  // namespace

void measure_workers(const Settings& settings) {
  testing::PostgresServer server({.fsync = true});
  const std::string url = server.new_database();
  const std::vector<int> counts = {1, 4, 10};
  std::vector<std::shared_ptr<Store>> stores;
  for (int i = 0; i < counts.back(); ++i) stores.push_back(required(open_store(url)));
  sessions_per_second(stores, counts.back());
  std::vector<std::vector<double>> rates(counts.size());
  for (int round = 0; round < settings.rounds; ++round) {
    for (std::size_t i = 0; i < counts.size(); ++i) rates[i].push_back(sessions_per_second(stores, counts[i]));
  }
  fmt::print("\nQueued sessions on PostgreSQL (fsync on), two model calls and a tool call each\n");
  for (std::size_t i = 0; i < counts.size(); ++i) {
    print_row(fmt::format("{} workers", counts[i]), rates[i], "sessions/s");
  }
}

}  // namespace allm::bench
