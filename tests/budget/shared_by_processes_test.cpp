// 32 runs in four processes share a budget of 1.00. What the model really charges is counted in a file outside of the
// processes.
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "allm/work_queue.hpp"

#include "tests/budget/spender.hpp"
#include "tests/cases.hpp"
#include "tests/stores/postgres_server.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): glibc declares it only for GNU sources

namespace allm::testing::shared_by_processes_test {
namespace {

constexpr int kProcesses = 4;
constexpr std::int64_t kLimit = 1'000'000'000;
// The worst case of a call. That of the input is its bytes and a little more for each message.
constexpr std::int64_t kWorstCase = kMaxTokens * kOutputPrice + 200'000 * kInputPrice;

std::uint64_t new_seed() { return std::random_device()(); }

// Everything that one test shares with its processes.
class SharedBudget {
 public:
  SharedBudget(std::string url, const BudgetOptions& limits) {
    std::string folder =
        (std::filesystem::exists("/dev/shm") ? "/dev/shm" : ::testing::TempDir()) + "/allm-budget-XXXXXX";
    if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("there is no folder for files of tests");
    folder_ = folder;
    options_.url = url.empty() ? "sqlite:" + (folder_ / "store.db").string() : std::move(url);
    options_.budget = "team";
    options_.effects = (folder_ / "effects").string();
    store_ = open_store(options_.url).value();
    static_cast<void>(open_budget(store_, options_.budget, limits).value());
  }
  SharedBudget(const SharedBudget&) = delete;
  SharedBudget& operator=(const SharedBudget&) = delete;
  ~SharedBudget() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  SpenderOptions& options() { return options_; }
  Store& store() { return *store_; }
  StoredBudget stored() { return store_->load_budget(options_.budget).value(); }

  pid_t start(int dies_in_answer) const {
    std::vector<std::string> words = {"/proc/self/exe",
                                      "spend",
                                      options_.url,
                                      options_.budget,
                                      options_.effects,
                                      std::to_string(new_seed()),
                                      std::to_string(dies_in_answer),
                                      options_.reserves ? "reserve" : "look"};
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_t child = 0;
    if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, argv.data(), environ) != 0) {
      throw std::runtime_error("a process cannot be started");
    }
    return child;
  }

  // Runs four processes until all have ended by themselves. The first `kills` that end are killed in one of their first
  // answers and started again.
  void spend_all(int kills) {
    std::mt19937_64 random(new_seed());
    const auto next_death = [&] { return kills-- > 0 ? static_cast<int>(1 + random() % 10) : 0; };
    int living = 0;
    for (; living < kProcesses; ++living) start(next_death());
    while (living > 0) {
      int status = 0;
      const pid_t ended = waitpid(-1, &status, 0);
      if (ended < 0 && errno == EINTR) continue;
      if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
        ++deaths_;
        start(next_death());
        continue;
      }
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "a process failed: " << status;
      --living;
    }
  }
  int deaths() const { return deaths_; }

  // What the model has charged, and in how many answers.
  std::int64_t charged() {
    std::ifstream lines(options_.effects);
    std::int64_t sum = 0;
    answers_ = 0;
    for (std::int64_t tokens = 0; lines >> tokens; ++answers_) sum += price_of(tokens);
    return sum;
  }
  std::int64_t answers() const { return answers_; }

 private:
  SpenderOptions options_;
  std::filesystem::path folder_;
  std::shared_ptr<Store> store_;
  int deaths_ = 0;
  std::int64_t answers_ = 0;
};

void report(const char* what, SharedBudget& budget, std::int64_t charged) {
  std::cout << what << ": " << budget.answers() << " answers charged " << nanos_to_cost(charged) << " of 1.00, "
            << nanos_to_cost(*budget.stored().reserved.nanos) << " reserved by the dead, " << budget.deaths()
            << " processes killed\n";
}

class SharedByProcesses : public ::testing::TestWithParam<const char*> {
 protected:
  static std::string url() {
    if (std::string_view(GetParam()) == "sqlite") return "";
    return shared_postgres().new_database() + "?allm_retry_ms=60000";
  }
};
INSTANTIATE_TEST_SUITE_P(Stores, SharedByProcesses, ::testing::Values("sqlite", "postgres"),
                         [](const auto& value) { return std::string(value.param); });

TEST_P(SharedByProcesses, TheBudgetIsNearlyUsedUpAndNotExceeded) {
  SharedBudget budget(url(), {.max_cost = 1.00});
  budget.spend_all(0);
  const std::int64_t charged = budget.charged();
  report("nobody killed", budget, charged);
  EXPECT_LE(charged, kLimit);
  const StoredBudget stored = budget.stored();
  EXPECT_EQ(stored.reservations, 0U);
  EXPECT_EQ(*stored.reserved.nanos, 0);
  // A cost is a floating-point number, which is rounded up to a billionth.
  EXPECT_GE(*stored.spent.nanos, charged);
  EXPECT_LE(*stored.spent.nanos, charged + budget.answers());
  // The last refused call found nothing reserved.
  EXPECT_LT(*stored.left().nanos, kWorstCase);
}

TEST_P(SharedByProcesses, TheBudgetIsNotExceededWhenProcessesAreKilled) {
  const int kills = kSanitized ? 4 : 12;
  for (int round = 0; round < test_scale(); ++round) {
    SharedBudget budget(url(), {.max_cost = 1.00});
    budget.spend_all(kills);
    const std::int64_t charged = budget.charged();
    report("with kills", budget, charged);
    // A process that was to die has ended before, if the others had spent the budget.
    EXPECT_GT(budget.deaths(), 0);
    EXPECT_LE(budget.deaths(), kills);
    EXPECT_LE(charged, kLimit);
    const StoredBudget stored = budget.stored();
    EXPECT_GE(*stored.spent.nanos + *stored.reserved.nanos, charged) << "an answer of a dead process is not counted";
    EXPECT_LT(*stored.left().nanos, kWorstCase);
    EXPECT_LE(stored.reservations, static_cast<std::size_t>(kills * kRunsOfProcess));
    const auto forgotten = budget.store().forget_reservations("team", {});
    ASSERT_TRUE(forgotten.has_value());
    EXPECT_EQ(forgotten->count, stored.reservations);
    EXPECT_EQ(*budget.stored().reserved.nanos, 0);
  }
}

TEST_P(SharedByProcesses, WithoutReservationsTheBudgetIsExceeded) {
  SharedBudget budget(url(), {});
  budget.options().reserves = false;
  budget.spend_all(0);
  const std::int64_t charged = budget.charged();
  report("without reservations", budget, charged);
  EXPECT_GT(charged, kLimit);
}

}  // namespace
}  // namespace allm::testing::shared_by_processes_test

int main(int argc, char** argv) {
  using namespace allm::testing;
  if (argc == 8 && std::string_view(argv[1]) == "spend") {
    return spend({.url = argv[2],
                  .budget = argv[3],
                  .effects = argv[4],
                  .seed = std::stoull(argv[5]),
                  .dies_in_answer = std::stoi(argv[6]),
                  .reserves = std::string_view(argv[7]) == "reserve"});
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
