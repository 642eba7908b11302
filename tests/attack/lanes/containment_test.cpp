// Hostile tools against the processes that watch them: no process survives its call or the program, and other calls
// work.
#include "process/containment.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "allm/tool_runner.hpp"
#include "allm/workers.hpp"

#include "process/exec_texts.hpp"
#include "runtime/test_waits.hpp"
#include "tests/attack/lanes/hostile_processes.hpp"
#include "tests/cases.hpp"
#include "tests/lanes/misbehaviour.hpp"
#include "tests/lanes/processes.hpp"

namespace allm::testing::containment_test {
namespace {

using namespace hostile_processes;

enum class In { worker, command };

// Both lanes in the long form of the tests, otherwise one of them: what ends processes is the same code for both.
std::vector<In> lanes(In usual) {
  return cases(1) > 1 ? std::vector<In>{In::command, In::worker} : std::vector<In>{usual};
}

// Hostile tools, and the calls of others after them.
class Attacked {
 public:
  explicit Attacked(Containment containment)
      : mark_(new_mark()), engine_({.runtime = Runtime::create({.containment = containment})}) {}
  Attacked(const Attacked&) = delete;
  Attacked& operator=(const Attacked&) = delete;
  ~Attacked() {
    for (const int pid : survivors(mark_)) kill(pid, SIGKILL);
  }

  std::string call(const Tool& tool, const Json& arguments) const {
    const auto batch = run_tool_calls({{.id = "c", .name = tool.name, .arguments = arguments}}, {tool}, {}, engine_);
    return batch ? batch->messages.at(0).text() : batch.error().message();
  }
  void run_all(const std::vector<ToolCall>& calls, const Tool& tool) const {
    EXPECT_TRUE(run_tool_calls(calls, {tool}, {.max_concurrency = std::ssize(calls)}, engine_).has_value());
  }
  std::string attacked(In lane, const std::string& kind, std::chrono::milliseconds timeout) const {
    Tool tool = lane == In::worker ? hostile_worker() : hostile_command(kind, mark_);
    tool.timeout = timeout;
    tool.limits.grace = std::chrono::milliseconds(20);
    return call(tool, {{"kind", kind}, {"mark", mark_}});
  }
  void expect_no_survivor(const std::string& kind) const {
    // Much longer than the end of a process takes on a busy machine, much shorter than survivors lived before.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    // A look at the list may miss a process that replaces itself all the time.
    constexpr int kLooks = 20;
    std::size_t seen = 0;
    for (int empty_looks = 0; empty_looks < kLooks && std::chrono::steady_clock::now() < end; usleep(1000)) {
      seen = survivors(mark_).size();
      empty_looks = seen == 0 ? empty_looks + 1 : 0;
    }
    EXPECT_EQ(seen, 0U) << kind;
  }
  void expect_later_calls_work(const std::string& kind) const {
    Tool worker = worker_tool("returns");
    worker.timeout = std::chrono::seconds(20);
    EXPECT_EQ(call(worker, Json::object()), "returns") << kind;
    Tool echo{.name = "echo", .timeout = std::chrono::seconds(20), .command = Command{.argv = {"echo", "works"}}};
    EXPECT_EQ(call(echo, Json::object()), "works") << kind;
  }
  // A tool that stays until its deadline.
  void expect_contained(In lane, const std::string& kind) const {
    attacked(lane, kind, std::chrono::milliseconds(200));
    expect_no_survivor(kind);
    expect_later_calls_work(kind);
    expect_no_survivor(kind);
  }

  const std::string& mark() const { return mark_; }

 private:
  const std::string mark_;
  const Engine engine_;
};

class AttackChannel : public ::testing::Test, protected Attacked {
 protected:
  AttackChannel() : Attacked(Containment::automatic) {}
};

// One for each kind of containment that this machine allows this user.
class AttackContainment : public ::testing::TestWithParam<Containment>, protected Attacked {
 protected:
  AttackContainment() : Attacked(GetParam()) {}
  void SetUp() override {
    const auto chosen = choose_containment(GetParam());
    if (chosen) return;
    const Tool echo{.name = "echo", .command = Command{.argv = {"echo", "works"}}};
    EXPECT_NE(call(echo, Json::object()).find("RuntimeOptions::containment"), std::string::npos);
    GTEST_SKIP() << chosen.error();
  }
};

TEST_P(AttackContainment, AToolKillsTheSupervisor) {
  for (const In lane : lanes(In::command)) expect_contained(lane, "kills_the_supervisor_and_stays");
}

TEST_P(AttackContainment, AToolStopsTheSupervisor) {
  for (const In lane : lanes(In::worker)) expect_contained(lane, "stops_the_supervisor_and_stays");
}

TEST_P(AttackContainment, AToolKillsOrStopsItsGuard) {
  for (const char* kind : {"kills_its_guard_and_stays", "stops_its_guard_and_stays", "stops_all_watchers_and_stays"}) {
    for (const In lane : lanes(In::command)) expect_contained(lane, kind);
  }
}

// They wait for the next job, whose request the program sends without asking the supervisor.
TEST_P(AttackContainment, GuardsThatAreKilledOrStoppedBetweenJobsCostNoCall) {
  const std::vector<pid_t> others = descendants(getpid());
  expect_later_calls_work("before");
  for (const int signal : {SIGKILL, SIGSTOP}) {
    std::vector<pid_t> guards = descendants(getpid());
    // The guard of the warm worker does not wait.
    std::erase_if(guards, [&](pid_t pid) {
      return name_of(pid) != "allm-guard" || !descendants(pid).empty() ||
             std::ranges::find(others, pid) != others.end();
    });
    EXPECT_FALSE(guards.empty());
    for (const pid_t pid : guards) kill(pid, signal);
    eventually([&] { return std::ranges::all_of(guards, has_ended); }, "the end of the guards");
    expect_later_calls_work(signal == SIGKILL ? "killed" : "stopped");
  }
}

TEST_P(AttackContainment, AToolKillsSupervisorAndGuard) {
  if (GetParam() == Containment::sweep) GTEST_SKIP() << "not promised: no process is left that could find the others";
  for (const In lane : lanes(In::worker)) expect_contained(lane, "kills_all_watchers_and_stays");
}

TEST_P(AttackContainment, ProcessesInSessionsOfTheirOwnEndWithTheCall) {
  for (const char* kind : {"bombs_and_stays", "moving_bombs_and_stays"}) {
    for (const In lane : lanes(In::command)) expect_contained(lane, kind);
  }
  for (const In lane : {In::command, In::worker}) {
    attacked(lane, "bombs", std::chrono::seconds(20));
    expect_no_survivor("bombs");
  }
}

TEST_P(AttackContainment, ProcessesOfTheParentEndWithTheCall) {
  for (const In lane : {In::command, In::worker}) {
    attacked(lane, "clones_to_its_parent", std::chrono::seconds(20));
    expect_no_survivor("clones_to_its_parent");
  }
}

TEST_P(AttackContainment, AForgedJobVariableHidesNoProcess) {
  Tool warm = worker_tool("returns");
  EXPECT_EQ(call(warm, Json::object()), "returns");  // job 1, which stays
  for (const char* kind : {"forges_its_job", "forgets_its_job"}) {
    for (const In lane : {In::command, In::worker}) {
      attacked(lane, kind, std::chrono::seconds(20));
      expect_no_survivor(kind);
    }
  }
}

TEST_F(AttackChannel, ACallWithALargeArgumentEndsWhileTheSupervisorIsStopped) {
  std::vector<pid_t> before = supervisors_of(getpid());
  expect_later_calls_work("before");
  std::vector<pid_t> stopped = supervisors_of(getpid());
  std::erase_if(stopped, [&](pid_t pid) { return std::ranges::find(before, pid) != before.end(); });
  for (const pid_t pid : stopped) kill(pid, SIGSTOP);
  ASSERT_FALSE(stopped.empty());
  Tool tool{.name = "echo", .timeout = std::chrono::seconds(2), .command = Command{.argv = {"printf", "%s", "{list}"}}};
  Json list = Json::array();
  for (int i = 0; i < 16; ++i) list.push_back(std::string(100'000, 'x'));
  call(tool, {{"list", list}});
  expect_later_calls_work("after");
}

TEST_F(AttackChannel, ARequestThatIsLargerThanASocketBufferArrives) {
  const Tool tool{.name = "count",
                  .timeout = std::chrono::seconds(20),
                  .command = Command{.argv = {"sh", "-c", "echo $#", "sh", "{list}"}}};
  constexpr int kTexts = 16;
  Json list = Json::array();
  for (int i = 0; i < kTexts; ++i) list.push_back(std::string(100'000, 'x'));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(call(tool, {{"list", list}}), std::to_string(kTexts));
}

TEST_F(AttackChannel, ARunningCallIsToldThatTheSupervisorWasStopped) {
  const std::vector<pid_t> before = supervisors_of(getpid());
  expect_later_calls_work("before");
  std::vector<pid_t> stopped = supervisors_of(getpid());
  std::erase_if(stopped, [&](pid_t pid) { return std::ranges::find(before, pid) != before.end(); });
  const std::jthread stopper([&] {
    eventually([&] { return !survivors(mark()).empty(); }, "the tool");
    for (const pid_t pid : stopped) kill(pid, SIGSTOP);
  });
  const std::string answer = attacked(In::command, "hides", std::chrono::minutes(10));
  EXPECT_NE(answer.find("handler_exit"), std::string::npos) << answer;
  EXPECT_NE(answer.find("the process supervisor was stopped"), std::string::npos) << answer;
  expect_no_survivor("hides");
}

TEST_F(AttackChannel, AnArgumentOfMoreThan64MiBIsAnErrorAndTheChannelLives) {
  Tool tool{.name = "echo", .timeout = std::chrono::seconds(20), .command = Command{.argv = {"echo", "{text}"}}};
  const std::string answer = call(tool, {{"text", std::string(std::size_t{70} << 20U, 'x')}});
  EXPECT_NE(answer.find("invalid_arguments"), std::string::npos) << answer.substr(0, 200);
  EXPECT_NE(answer.find("73400320"), std::string::npos) << answer.substr(0, 200);
  expect_later_calls_work("after");
}

// A supervisor that ends closes a descriptor for each job before it has ended; the program sees the end of the line in
// between.
TEST_P(AttackContainment, NoProcessSurvivesASupervisorThatIsKilledWithManyJobs) {
  constexpr std::size_t kJobs = 50;
  const std::vector<pid_t> before = supervisors_of(getpid());
  expect_later_calls_work("before");
  std::vector<pid_t> killed = supervisors_of(getpid());
  std::erase_if(killed, [&](pid_t pid) { return std::ranges::find(before, pid) != before.end(); });
  const std::jthread killer([&] {
    eventually([&] { return survivors(mark()).size() == kJobs; }, "the tools");
    for (const pid_t pid : killed) kill(pid, SIGKILL);
  });
  const Tool tool = hostile_command("hides", mark());
  std::vector<ToolCall> calls;
  for (std::size_t i = 0; i < kJobs; ++i) calls.push_back({.id = std::to_string(i), .name = tool.name});
  run_all(calls, tool);
  expect_no_survivor("hides");
}

// Starts a program that calls a hostile tool.
pid_t start_attacked(In lane, const std::string& kind, const std::string& mark, Containment containment) {
  std::vector<std::string> arguments = {ALLM_MISBEHAVE, "attacked", lane == In::worker ? "worker" : "command",
                                        kind,           mark,       std::to_string(static_cast<int>(containment))};
  std::vector<char*> argv = exec_pointers(arguments);
  pid_t pid = 0;
  EXPECT_EQ(posix_spawn(&pid, ALLM_MISBEHAVE, nullptr, nullptr, argv.data(), environ), 0);
  return pid;
}

TEST_P(AttackContainment, NothingSurvivesTheProgram) {
  for (const bool stop_supervisor : {false, true}) {
    for (const In lane : lanes(stop_supervisor ? In::command : In::worker)) {
      const pid_t pid = start_attacked(lane, "bombs_and_stays", mark(), GetParam());
      eventually([&] { return survivors(mark()).size() >= 60; }, "the bombs");
      std::vector<pid_t> family = descendants(pid);
      if (stop_supervisor) {
        for (const pid_t supervisor : supervisors_of(pid)) kill(supervisor, SIGSTOP);
      }
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
      expect_no_survivor(stop_supervisor ? "stopped" : "running");
      eventually([&] { return std::ranges::all_of(family, has_ended); }, "the end of the supervisor");
      for (const pid_t member : family) kill(member, SIGKILL);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Attack, AttackContainment,
                         ::testing::Values(Containment::pid_namespace, Containment::cgroup, Containment::sweep),
                         [](const auto& kind) { return std::string(name_of(kind.param)); });

}  // namespace
}  // namespace allm::testing::containment_test
