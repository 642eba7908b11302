// Ten `allm worker` processes share the queue of three tenants in a PostgreSQL database: every session runs exactly
// once, the tenants get equal shares, and workers that are killed at random change nothing but the time.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <thread>

#include "allm/work_queue.hpp"

#include "tests/cases.hpp"
#include "tests/commands/command_rig.hpp"
#include "tests/stores/postgres_server.hpp"

namespace allm::testing::worker_crowd_test {
namespace {

constexpr std::size_t kWorkers = kSanitized ? 4 : 10;
constexpr int kJobsOfWorker = 2;

// The sessions of the largest, the middle and the smallest tenant. `make test-long` has 2,000 in the release build.
struct Shares {
  int huge, large, small;
  int sum() const { return huge + large + small; }
};
Shares shares_of(int small) { return {.huge = 6 * small, .large = 3 * small, .small = small}; }

class Crowd {
 public:
  explicit Crowd(const Shares& shares) : shares_(shares) {
    const auto opened = open_store(rig_.store());
    EXPECT_TRUE(opened) << opened.error().message();
    store_ = *opened;
    add("huge", shares.huge);
    add("large", shares.large);
    add("small", shares.small);
    std::ofstream(tools_) << "[[tool]]\nname = \"act\"\ncommand = [\"sh\", \"-c\", 'echo \"$1\" >>" + effects_.string() +
                                 "', \"sh\", \"{text}\"]\n[tool.schema]\ntype = \"object\"\n"
                                 "properties.text = { type = \"string\" }\n";
  }

  void start_worker(const std::string& arguments) {
    const std::string line = rig_.worker_line("--until-empty --jobs " + std::to_string(kJobsOfWorker) + " --tools " +
                                              tools_.string() + " " + arguments);
    workers_.push_back(
        std::make_unique<CommandProcess>(line, rig_.folder() / ("worker" + std::to_string(workers_.size()))));
  }
  // Kills one of the workers that were started last.
  void kill_worker(std::size_t back) { workers_[workers_.size() - 1 - back]->kill(SIGKILL); }
  void wait_for_workers() {
    for (auto& worker : workers_) worker->wait();
  }
  std::string output_of_workers() const {
    std::string output;
    for (const auto& worker : workers_) output += worker->output();
    return output;
  }

  std::vector<std::string> effects() const { return lines_of(file_text(effects_)); }
  std::size_t model_calls() const { return rig_.model_calls(); }

  // The queue is empty, and each session has exactly one question, call, result and answer.
  void expect_all_completed() {
    const auto counts = store_->count_jobs();
    ASSERT_TRUE(counts);
    EXPECT_EQ(counts->ready + counts->delayed + counts->running, 0U) << output_of_workers();
    SessionQuery query{.limit = 1'000};
    int completed = 0;
    do {
      const auto page = store_->list(query);
      ASSERT_TRUE(page);
      for (const SessionSummary& summary : page->sessions) {
        EXPECT_EQ(summary.status, SessionStatus::completed) << summary.id;
        EXPECT_EQ(summary.messages, 4U) << summary.id;
        ++completed;
      }
      query.after = page->next;
    } while (!query.after.empty());
    EXPECT_EQ(completed, shares_.sum());
    EXPECT_EQ(run_sql(url_, "SELECT count(*) FROM allm.log WHERE kind = 'run_started'"), std::to_string(completed));
    EXPECT_EQ(run_sql(url_, "SELECT count(*) FROM allm.log WHERE kind = 'run_ended'"), std::to_string(completed));
  }

  // The tenants of the runs in the order in which they ended, for as long as all of them had jobs that nobody ran: the
  // last change of a session is the end of its run, and the jobs that ran at the same time are fewer than the slots.
  std::map<std::string, int> ended_while_all_waited() const {
    constexpr int kSlots = static_cast<int>(kWorkers) * kJobsOfWorker;
    const std::string tenants = run_sql(url_, "SELECT string_agg(tenant, ',' ORDER BY change) FROM allm.sessions");
    std::map<std::string, int> ended;
    for (std::size_t begin = 0; begin < tenants.size();) {
      const std::size_t end = std::min(tenants.find(',', begin), tenants.size());
      const int count = ++ended[tenants.substr(begin, end - begin)];
      if (count + kSlots >= shares_.small) break;
      begin = end + 1;
    }
    return ended;
  }

 private:
  void add(const std::string& tenant, int count) {
    for (int i = 0; i < count; ++i) {
      const auto made = store_->create({.tenant = tenant});
      ASSERT_TRUE(made) << made.error().message();
      const std::string text = tenant + std::to_string(i);
      ASSERT_TRUE(store_->submit({.session_id = *made->session.id, .order = {{"message", text}}}));
    }
  }

  const Shares shares_;
  const std::string url_ = shared_postgres().new_database();
  CommandRig rig_{url_};
  const std::filesystem::path effects_ = rig_.folder() / "effects";
  const std::filesystem::path tools_ = rig_.folder() / "tools.toml";
  std::shared_ptr<Store> store_;
  std::vector<std::unique_ptr<CommandProcess>> workers_;
};

void print_seconds(const char* what, std::chrono::steady_clock::time_point begin) {
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::cout << what << took.count() << " s\n";
}

TEST(WorkerCrowd, EachSessionRunsExactlyOnceAndTenantsGetEqualShares) {
  const Shares shares = shares_of(std::min(cases(kSanitized ? 20 : 60), 200));
  Crowd crowd(shares);
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < kWorkers; ++i) crowd.start_worker("");
  crowd.wait_for_workers();
  print_seconds("all sessions: ", begin);
  crowd.expect_all_completed();
  std::vector<std::string> effects = crowd.effects();
  EXPECT_EQ(effects.size(), static_cast<std::size_t>(shares.sum()));
  std::ranges::sort(effects);
  EXPECT_EQ(std::ranges::adjacent_find(effects), effects.end()) << "a tool ran twice";
  EXPECT_EQ(crowd.model_calls(), 2 * effects.size());
  const auto ended = crowd.ended_while_all_waited();
  ASSERT_EQ(ended.size(), 3U);
  int least = shares.sum();
  int most = 0;
  for (const auto& [tenant, count] : ended) {
    std::cout << tenant << ": " << count << "\n";
    least = std::min(least, count);
    most = std::max(most, count);
  }
}

}  // namespace
}  // namespace allm::testing::worker_crowd_test
