// No process, descriptor or file is left behind: not after thousands of calls, not when the program is killed.
#include <algorithm>
#include <array>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "allm/tool_runner.hpp"

#include "process/exec_texts.hpp"
#include "process/fd.hpp"
#include "process/sanitized.hpp"
#include "runtime/test_waits.hpp"
#include "tests/cases.hpp"
#include "tests/lanes/misbehaviour.hpp"
#include "tests/lanes/processes.hpp"

namespace allm::testing::leftovers_test {
namespace {

// Twenty calls, of all quick kinds.
void run_round(int round, const Engine& engine) {
  std::vector<Tool> tools;
  std::vector<ToolCall> calls;
  const std::vector<std::string>& kinds = misbehaviours();
  for (std::size_t i = 0; calls.size() < 20; ++i) {
    const std::string& kind = kinds[(i + static_cast<std::size_t>(round)) % kinds.size()];
    if (kind == "writes_1_gb" || kind == "allocates" || kind == "floods_stderr") continue;
    const bool in_worker = (i + static_cast<std::size_t>(round)) % 2 == 0;
    Tool tool = in_worker ? worker_tool(kind) : command_tool(kind);
    const std::string name = tool.name;
    if (!in_worker) tool.name += "_command";
    tool.timeout = std::chrono::milliseconds(200);
    tool.limits.grace = std::chrono::milliseconds(20);
    calls.push_back({.id = std::to_string(i), .name = tool.name});
    if (std::ranges::find(tools, tool.name, &Tool::name) == tools.end()) tools.push_back(std::move(tool));
  }
  const auto batch = run_tool_calls(calls, tools, {.max_concurrency = 20}, engine);
  ASSERT_TRUE(batch.has_value());
  ASSERT_EQ(batch->messages.size(), calls.size());
}

std::size_t temporary_files() {
  const std::filesystem::directory_iterator entries("/dev/shm");
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

TEST(Leftovers, ManyCallsLeaveNothingBehind) {
  const int rounds = cases(10);
  const std::size_t temporary_before = temporary_files();
  const Engine process_runtime;  // makes the process's runtime, which keeps two descriptors until the end
  const std::vector<pid_t> processes_before = descendants(getpid());
  const std::size_t files_before = open_files(getpid());
  {
    const auto runtime = Runtime::create({.max_workers = 8});
    const Engine engine({.runtime = runtime});
    for (int i = 0; i < rounds / 4; ++i) run_round(i, engine);
    const std::size_t memory = resident_bytes(getpid());
    for (int i = rounds / 4; i < rounds; ++i) run_round(i, engine);
    if (!kSanitized) {
      EXPECT_LT(resident_bytes(getpid()), memory + (std::size_t{8} << 20U));
    }
    // All that is left is the process supervisor and workers that wait.
    eventually(only_idle_processes_left, "the end of all that was called");
  }
  eventually(
      [&] {
        return std::ranges::all_of(descendants(getpid()), [&](pid_t pid) {
          return std::ranges::find(processes_before, pid) != processes_before.end();
        });
      },
      "the end of all processes");
  eventually([&] { return open_files(getpid()) <= files_before; }, "the end of all descriptors");
  EXPECT_EQ(temporary_files(), temporary_before);
}

// Starts a program that starts workers and commands for ever; returns when it has begun.
pid_t start_program(const std::string& mark) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const Fd ours(ends[0]);
  Fd theirs(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), STDOUT_FILENO);
  std::vector<std::string> environment = own_environment();
  environment.push_back(mark);
  std::vector<char*> pointers = exec_pointers(environment);
  std::string program = ALLM_MISBEHAVE;
  std::string argument = "program";
  std::array<char*, 3> arguments = {program.data(), argument.data(), nullptr};
  pid_t pid = 0;
  EXPECT_EQ(posix_spawn(&pid, program.c_str(), &actions, nullptr, arguments.data(), pointers.data()), 0);
  posix_spawn_file_actions_destroy(&actions);
  theirs.reset();
  char byte = 0;
  EXPECT_EQ(read(ours.get(), &byte, 1), 1);
  return pid;
}

TEST(Leftovers, NoProcessSurvivesTheProgram) {
  std::mt19937 random(20261116);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same moments in every run
  std::uniform_int_distribution<int> microseconds(0, 60'000);
  const int kills = cases(20);
  for (int i = 0; i < kills; ++i) {
    const std::string mark = "ALLM_TEST_MARK=" + std::to_string(getpid()) + "." + std::to_string(i) + ".";
    const pid_t pid = start_program(mark);
    // A random moment for the kill; nothing else depends on this sleep.
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds(random)));
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    eventually([&] { return processes_with(mark).empty(); }, "the end of what the killed program had started");
  }
}

}  // namespace
}  // namespace allm::testing::leftovers_test
