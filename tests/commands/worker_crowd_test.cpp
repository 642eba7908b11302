// Ten `allm worker` processes share the queue of three tenants in a PostgreSQL database: every session runs exactly
// once, the tenants get equal shares, and workers that are killed at random change nothing but the time.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <ranges>

#include "allm/work_queue.hpp"

#include "tests/cases.hpp"
#include "tests/commands/command_rig.hpp"
#include "tests/stores/postgres_server.hpp"

namespace allm::testing::worker_crowd_test {
namespace {

constexpr std::size_t kWorkers = kSanitized ? 4 : 10;
constexpr int kJobsOfWorker = 2;

// The sessions of the largest, the middle and the smallest tenant.
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
    std::ofstream(tools_) << "[[tool]]\nname = \"act\"\ncommand = [\"sh\", \"-c\", 'echo \"$1\" >>" +
                                 effects_.string() +
                                 "', \"sh\", \"{text}\"]\n[tool.schema]\ntype = \"object\"\n"
                                 "properties.text = { type = \"string\" }\n";
  }

  void start_workers(const std::string& arguments) {
    line_ = rig_.worker_line("--until-empty --jobs " + std::to_string(kJobsOfWorker) + " --tools " + tools_.string() +
                             " " + arguments);
    for (std::size_t i = 0; i < kWorkers; ++i) workers_.push_back(make_worker());
  }
  // Kills a worker and starts another one.
  void replace_worker(std::size_t index) {
    workers_[index]->kill(SIGKILL);
    workers_[index]->wait();
    workers_[index] = make_worker();
  }
  void wait_for_workers() {
    for (auto& worker : workers_) worker->wait();
  }
  std::string output_of_workers() const {
    std::string output;
    for (const auto& worker : workers_) output += worker->output();
    return output;
  }

  void expect_no_effect_twice() const {
    std::vector<std::string> sorted = effects();
    std::ranges::sort(sorted);
    EXPECT_EQ(std::ranges::adjacent_find(sorted), sorted.end()) << "a tool ran twice";
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

  std::unique_ptr<CommandProcess> make_worker() {
    return std::make_unique<CommandProcess>(line_, rig_.folder() / ("worker" + std::to_string(++started_)));
  }

  const Shares shares_;
  const std::string url_ = shared_postgres().new_database();
  CommandRig rig_{url_};
  const std::filesystem::path effects_ = rig_.folder() / "effects";
  const std::filesystem::path tools_ = rig_.folder() / "tools.toml";
  std::shared_ptr<Store> store_;
  std::string line_;
  int started_ = 0;
  std::vector<std::unique_ptr<CommandProcess>> workers_;
};

// Prints how long `work` took.
template <class Work>
void timed(const char* what, Work work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::cout << what << took.count() << " s\n";
}

TEST(WorkerCrowd, EachSessionRunsExactlyOnceAndTenantsGetEqualShares) {
  const Shares shares = shares_of(kSanitized ? 20 : 200);
  Crowd crowd(shares);
  timed("all sessions: ", [&] {
    crowd.start_workers("");
    crowd.wait_for_workers();
  });
  crowd.expect_all_completed();
  crowd.expect_no_effect_twice();
  EXPECT_EQ(crowd.effects().size(), static_cast<std::size_t>(shares.sum()));
  EXPECT_EQ(crowd.model_calls(), 2 * static_cast<std::size_t>(shares.sum()));

  const auto ended = crowd.ended_while_all_waited();
  for (const auto& [tenant, count] : ended) std::cout << tenant << ": " << count << "\n";
  ASSERT_EQ(ended.size(), 3U);
  const auto [least, most] = std::ranges::minmax(ended | std::views::values);
  // With few sessions, those that run at the same moment decide.
  const int allowed = kSanitized ? kJobsOfWorker * static_cast<int>(kWorkers) : most / 10;
  EXPECT_LE(most - least, allowed);
}

TEST(WorkerCrowd, WorkersThatAreKilledChangeNothingButTheTime) {
  const Shares shares = shares_of(kSanitized ? 8 : std::min(cases(40), 200));
  Crowd crowd(shares);
  const std::string lease = kSanitized ? "--lease 20" : "--lease 10";
  std::size_t kills = 0;
  timed("all sessions, with kills: ", [&] {
    crowd.start_workers(lease);
    std::mt19937 random(7);
    const auto most_kills = static_cast<std::size_t>(kSanitized ? 3 : shares.sum() / 20);
    while (kills < most_kills) {
      // Somewhere in the middle of the next few sessions.
      const std::size_t goal = crowd.effects().size() + 1 + random() % 10;
      if (goal >= static_cast<std::size_t>(shares.sum()) || !eventually([&] { return crowd.effects().size() >= goal; }))
        break;
      crowd.replace_worker(random() % kWorkers);
      ++kills;
    }
    crowd.wait_for_workers();
  });
  std::cout << "kills: " << kills << "\n";
  EXPECT_GT(kills, 0U);
  crowd.expect_all_completed();
  crowd.expect_no_effect_twice();
  // A call that was interrupted is not run again: its effect may be missing.
  const std::size_t effects = crowd.effects().size();
  EXPECT_LE(effects, static_cast<std::size_t>(shares.sum()));
  EXPECT_GE(effects + kills * kJobsOfWorker, static_cast<std::size_t>(shares.sum()));
}

}  // namespace
}  // namespace allm::testing::worker_crowd_test
