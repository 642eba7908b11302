// The kill matrix: a program that runs sessions on a store is killed with SIGKILL at each commit of the journal and at
// random moments, started again and resumed, until its session is complete. What it really did is counted in a file of
// its own. Usage: allm_kill_matrix [kills]
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "allm/serialize.hpp"
#include "allm/session_runner.hpp"
#include "allm/workers.hpp"

#include "tests/cases.hpp"
#include "tests/kill/kill_plan.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): glibc declares it only for GNU sources

namespace allm::kill_matrix {
namespace {

struct Totals {
  std::atomic<int> sessions = 0;
  std::atomic<int> deaths = 0;
  std::atomic<int> resumes = 0;
  std::atomic<int> duplicates = 0;
  std::atomic<int> losses = 0;
};

// What the program has really done, and which of it is recorded.
struct Observation {
  std::map<std::string, int> lines;  // "run a", "model 0"
  std::int64_t fence = 0;            // of the last lease
  std::size_t responses = 0;
  std::set<std::string> finished;  // ids of calls
  std::map<std::string, int> dispatched;
};

class SessionUnderTest {
 public:
  SessionUnderTest(Store& store, std::string url, const std::string& folder, std::string lane, Totals& totals)
      : store_(store), url_(std::move(url)), lane_(std::move(lane)), totals_(totals) {
    static std::atomic<int> number = 0;
    effects_ = folder + "/effects." + std::to_string(++number);
    Session session{.thread = {user("Go.")}, .context = {{"effects", effects_}}};
    id_ = store_.create({.session = std::move(session)}).value().session.id.value();
  }

  // Lives until the session is complete; `death_of` says how the n-th life ends, from 0 on.
  void run(const std::function<Death(int)>& death_of) {
    ++totals_.sessions;
    std::vector<Observation> seen;
    for (int life = 0;; ++life) {
      const int status = live_once(death_of(life));
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
      const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
      if (killed) ++totals_.deaths;
      if ((!killed && WEXITSTATUS(status) != 3) || life > 200) return report_loss("the program failed");
      ++totals_.resumes;
      seen.push_back(observe());
      static_cast<void>(store_.release({.session_id = id_, .fence = seen.back().fence}));
      if (!killed) wait_for_lease();
    }
    check(seen);
  }

  std::string thread() const { return to_json(store_.load(id_).value().session.thread).value(); }

 private:
  // A program that was killed between its lease and the line about it leaves a lease that nobody else can release.
  void wait_for_lease() const {
    Result<Lease> lease = store_.acquire(id_, kLease);
    for (; !lease; lease = store_.acquire(id_, kLease)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    static_cast<void>(store_.release(*lease));
  }

  int live_once(const Death& death) {
    std::array<int, 2> ready{};
    if (pipe(ready.data()) != 0) std::abort();
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ready[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ready[0]);
    std::vector<std::string> words = {"/proc/self/exe", "live", url_,       id_,
                                      effects_,         lane_,  death.when, std::to_string(death.commit)};
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_t child = 0;
    if (posix_spawn(&child, "/proc/self/exe", &actions, nullptr, argv.data(), environ) != 0) std::abort();
    posix_spawn_file_actions_destroy(&actions);
    close(ready[1]);
    if (death.when == "random") {
      char byte = 0;
      static_cast<void>(read(ready[0], &byte, 1));  // it has opened the store
      std::this_thread::sleep_for(std::chrono::microseconds(death.commit));
      kill(child, SIGKILL);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    close(ready[0]);
    return status;
  }

  Observation observe() const {
    Observation seen;
    std::ifstream file(effects_);
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("fence ")) {
        seen.fence = std::stoll(line.substr(6));
      } else {
        ++seen.lines[line];
      }
    }
    const auto facts = store_.read_log(id_, 0, 10'000, "facts");
    for (const LogEntry& entry : facts.value()) {
      if (entry.kind == "response") ++seen.responses;
      if (entry.kind == "finished") seen.finished.insert(entry.body["call_id"].get<std::string>());
      if (entry.kind == "dispatched") ++seen.dispatched[entry.body["call_id"].get<std::string>()];
    }
    return seen;
  }

  void check(const std::vector<Observation>& seen) const {
    const Observation end = observe();
    const auto count = [](const Observation& at, const std::string& line) {
      const auto found = at.lines.find(line);
      return found == at.lines.end() ? 0 : found->second;
    };
    for (const Observation& at : seen) {
      for (std::size_t step = 0; step < at.responses; ++step) {
        const std::string line = "model " + std::to_string(step);
        if (count(end, line) != count(at, line)) report_duplicate("a recorded response was paid again: " + line);
      }
      for (const std::string& call : at.finished) {
        if (count(end, "run " + call) != count(at, "run " + call)) report_duplicate("call " + call + " ran again");
      }
    }
    for (const char* call : {"a", "c", "e"}) {
      const auto dispatched = end.dispatched.find(call);
      const bool twice = dispatched != end.dispatched.end() && dispatched->second > 1;
      if (twice || count(end, std::string("run ") + call) > 1) {
        report_duplicate(std::string("call ") + call + " was started twice");
      }
    }
    check_thread();
  }

  void check_thread() const {
    const Result<StoredSession> stored = store_.load(id_);
    if (!stored) return report_loss("the session cannot be read: " + stored.error().message());
    std::vector<std::string> texts;
    for (const Message& message : stored->session.thread.messages) {
      std::string text = message.text();
      // A call that was interrupted and must not be repeated.
      if (text.find("may have had effects") != std::string::npos) {
        const bool may_be = message.tool_call_id == "a" || message.tool_call_id == "c" || message.tool_call_id == "e";
        text = may_be ? "noted" : text;
      }
      if (text.starts_with('"')) text = text.substr(1, text.size() - 2);
      texts.push_back(message.tool_call_id.value_or("") + ":" + text);
    }
    const std::vector<std::string> expected = {
        ":Go.",    ":Two.", "a:noted", "b:noted", ":",       "c:noted", "q:<awaiting user response>",
        ":Go on?", ":Yes.", ":",       "d:noted", "e:noted", ":Done."};
    if (texts == expected) return;
    std::string all;
    for (const std::string& text : texts) all += text + "|";
    report_loss("the thread differs from that of an undisturbed run: " + all);
  }

  void report_duplicate(const std::string& what) const {
    ++totals_.duplicates;
    std::fprintf(stderr, "DUPLICATE in %s (%s): %s\n", id_.c_str(), lane_.c_str(), what.c_str());
  }
  void report_loss(const std::string& what) const {
    ++totals_.losses;
    std::fprintf(stderr, "LOSS in %s (%s): %s\n", id_.c_str(), lane_.c_str(), what.c_str());
  }

  Store& store_;
  const std::string url_;
  const std::string lane_;
  Totals& totals_;
  std::string effects_;
  std::string id_;
};

class Matrix {
 public:
  Matrix(std::string folder, int kills) : folder_(std::move(folder)), kills_(kills) {}

  // Each thread has a store of its own.
  void run(int thread) {
    const std::string url = "sqlite:" + folder_ + "/store." + std::to_string(thread) + ".db";
    const std::shared_ptr<Store> store = open_store(url).value();
    std::mt19937 random(static_cast<unsigned>(thread) + 1U);
    while (true) {
      const int point = next_++;
      if (point >= kPoints && totals_.deaths >= kills_) return;
      const std::string lane = point % 4 == 3 ? "worker" : "thread";
      SessionUnderTest session(*store, url, folder_, lane, totals_);
      if (point < kPoints) {
        session.run([&](int life) { return at_commit(point, life); });
      } else {
        session.run([&](int life) { return at_random(random, lane, life); });
      }
    }
  }

  int report() const {
    std::printf("kill matrix: %d sessions, %d deaths, %d resumes, %d duplicates, %d losses\n", totals_.sessions.load(),
                totals_.deaths.load(), totals_.resumes.load(), totals_.duplicates.load(), totals_.losses.load());
    return totals_.duplicates == 0 && totals_.losses == 0 ? 0 : 1;
  }

 private:
  // Commits 1 to 16 of a life, before and after each, in both lanes.
  static constexpr int kCommits = 16;
  static constexpr int kPoints = kCommits * 2 * 4;

  static Death at_commit(int point, int life) {
    const int place = point / 4;
    // The resumed run is killed as well, once.
    if (life > 1) return {};
    return {place % 2 == 0 ? "before" : "after", 1 + place / 2};
  }
  static Death at_random(std::mt19937& random, const std::string& lane, int life) {
    if (life > 12) return {};
    // About the time that a life takes; those of workers start processes.
    const int longest = lane == "worker" ? 120'000 : 40'000;
    return {"random", std::uniform_int_distribution<int>(0, longest)(random)};
  }

  const std::string folder_;
  const int kills_;
  std::atomic<int> next_ = 0;
  Totals totals_;
};

int run_matrix(int kills) {
  std::string folder = (std::filesystem::temp_directory_path() / "allm-kill-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 2;
  Matrix matrix(folder, kills);
  {
    std::vector<std::jthread> threads;
    // More than there are cores: lives wait for the disk.
    for (int i = 0; i < 4; ++i) threads.emplace_back([&matrix, i] { matrix.run(i); });
  }
  const int status = matrix.report();
  std::filesystem::remove_all(folder);
  return status;
}

}  // namespace
}  // namespace allm::kill_matrix

int main(int argc, char** argv) {
  using namespace allm::kill_matrix;
  allm::run_as_worker_if_asked(kill_tools("thread"));
  const std::vector<std::string> words(argv, argv + argc);
  if (words.size() == 8 && words[1] == "live") {
    return live({words[2], words[3], words[4], words[5], {words[6], std::atoi(words[7].c_str())}});
  }
  // The release build kills most often: sanitizers make a life ten times as long.
  const int usual = allm::testing::cases(allm::kSanitized ? 60 : 1'000);
  return run_matrix(words.size() == 2 ? std::atoi(words[1].c_str()) : usual);
}
