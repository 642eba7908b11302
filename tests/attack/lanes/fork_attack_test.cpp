// The program forks while its workers and commands run. Parent and child never read each other's answers, and nothing
// that the child does disturbs the parent.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <string>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/allm.hpp"

#include "process/fd.hpp"
#include "process/sanitized.hpp"
#include "runtime/test_waits.hpp"
#include "tests/cases.hpp"
#include "tests/lanes/misbehaviour.hpp"
#include "tests/lanes/processes.hpp"

namespace allm::testing::fork_attack_test {
namespace {

using namespace std::chrono_literals;

const AddedWorkerTool echo("attack_fork_echo", [](const Json& arguments) { return ok(arguments.at("n")); });

using Fork = pid_t (*)();
// Without the handlers of pthread_atfork, as some libraries do it.
pid_t raw_fork() { return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr)); }

// The status of a child that was killed by its alarm.
constexpr int kHung = -2;

void end_if_hung() {
  signal(SIGALRM, SIG_DFL);
  alarm(20);
}

// A child that runs `body`; a child that hangs is killed by its alarm.
pid_t start_child(Fork fork_function, const std::function<int()>& body) {
  const pid_t child = fork_function();
  if (child == 0) {
    end_if_hung();
    _exit(body());
  }
  return child;
}

int status_of(pid_t child) {
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) return kHung;
  EXPECT_TRUE(WIFEXITED(status)) << "the child was killed by signal " << WTERMSIG(status);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The status of a child that `attempt` makes. A child of a bare clone may find the allocator locked for ever by a
// thread that it does not have, so one that hangs is tried again.
int status_of_attempts(Fork fork_function, const std::function<int()>& attempt) {
  int status = attempt();
  for (int i = 0; i < 3 && status == kHung && fork_function == &raw_fork; ++i) status = attempt();
  return status;
}

std::vector<Fork> ways_to_fork() {
  // The allocator of a sanitizer has more such locks.
  if (kSanitized) return {&fork};
  return {&fork, &raw_fork};
}

std::vector<ToolCall> echo_calls(int count, int first) {
  std::vector<ToolCall> calls;
  for (int i = 0; i < count; ++i) {
    calls.push_back({.id = std::to_string(i), .name = "attack_fork_echo", .arguments = {{"n", first + i}}});
  }
  return calls;
}

// How many calls did not get their own answer. Stops at an error event.
int wrong_answers(EventStream& events, int first, bool& has_fork_error) {
  int wrong = 0;
  while (const Poll event = events.next()) {
    if (const auto* error = event->get_if<ErrorEvent>()) {
      has_fork_error = error->error.message().find("forked") != std::string::npos;
      return wrong;
    }
    const auto* completed = event->get_if<ToolExecutionCompleted>();
    if (completed == nullptr) continue;
    const auto* value = std::get_if<ToolOk>(&completed->outcome);
    if (value == nullptr || value->value != first + std::stoi(completed->id)) ++wrong;
  }
  return wrong;
}

class AttackFork : public ::testing::TestWithParam<Fork> {};
INSTANTIATE_TEST_SUITE_P(AttackWays, AttackFork, ::testing::ValuesIn(ways_to_fork()));

TEST_P(AttackFork, ParentAndChildGoOnWithOneStream) {
  const Engine engine({.runtime = Runtime::create({.max_workers = 4})});
  const int count = 200;
  int round = 0;
  const auto attempt = [&] {
    EventStream events = stream_tool_calls(echo_calls(count, round), {echo.tool()}, {.max_concurrency = 4}, engine);
    for (int i = 0; i < 20 + round; ++i) EXPECT_TRUE(events.next().has_event());
    const pid_t child = start_child(GetParam(), [&] {
      bool has_fork_error = false;
      const int wrong = wrong_answers(events, round, has_fork_error);
      events.drop();
      return wrong != 0 ? 1 : has_fork_error ? 0 : 2;
    });
    bool has_fork_error = false;
    EXPECT_EQ(wrong_answers(events, round, has_fork_error), 0);
    EXPECT_FALSE(has_fork_error);
    return status_of(child);
  };
  for (; round < cases(2); ++round) {
    EXPECT_EQ(status_of_attempts(GetParam(), attempt), 0) << "1: it got answers of its parent; 2: it got no error";
  }
}

TEST_P(AttackFork, BothReturnFromACallbackOfABlockingCall) {
  const Engine engine({.runtime = Runtime::create({.max_workers = 4})});
  const auto attempt = [&] {
    pid_t child = -1;
    int seen = 0;
    CallOptions options{.max_concurrency = 4};
    options.on_event = [&](const Event&) {
      if (++seen != 30) return;
      child = GetParam()();
      if (child == 0) end_if_hung();
    };
    const auto batch = run_tool_calls(echo_calls(200, 0), {echo.tool()}, options, engine);
    if (child == 0) _exit(!batch && batch.error().message().find("forked") != std::string::npos ? 0 : 1);
    EXPECT_TRUE(batch.has_value());
    for (std::size_t i = 0; batch && i < batch->messages.size(); ++i) {
      EXPECT_EQ(batch->messages[i].text(), std::to_string(i));
    }
    return status_of(child);
  };
  EXPECT_EQ(status_of_attempts(GetParam(), attempt), 0);
}

TEST_P(AttackFork, AChildThatDestroysEverythingDoesNotDisturbItsParent) {
  const auto attempt = [&] {
    auto runtime = std::make_unique<std::shared_ptr<Runtime>>(Runtime::create({.max_workers = 2}));
    auto engine = std::make_unique<Engine>(EngineOptions{.runtime = *runtime});
    auto events = std::make_unique<EventStream>(stream_tool_calls(
        {{.id = "w", .name = "attack_fork_echo", .arguments = {{"n", 1}}},
         {.id = "c", .name = "cat", .arguments = {{"text", std::string(std::size_t{1} << 20U, 'x')}}}},
        {echo.tool(),
         Tool{.name = "cat", .timeout = 50s, .command = Command{.argv = {"wc", "-c"}, .input = CommandInput::json}}},
        {}, *engine));
    EXPECT_TRUE(events->next().has_event());
    EXPECT_TRUE(events->next().has_event());
    const pid_t child = start_child(GetParam(), [&] {
      events.reset();
      engine.reset();
      runtime.reset();
      return 0;
    });
    const int status = status_of(child);
    int completed = 0;
    while (const Poll event = events->next()) {
      const auto* end = event->get_if<ToolExecutionCompleted>();
      if (end == nullptr) continue;
      EXPECT_TRUE(std::holds_alternative<ToolOk>(end->outcome)) << end->name;
      ++completed;
    }
    EXPECT_EQ(completed, 2);
    return status;
  };
  EXPECT_EQ(status_of_attempts(GetParam(), attempt), 0);
}

TEST(AttackForkedChild, ALivingChildKeepsNoCommandFromTheEndOfItsInput) {
  const Engine engine({.runtime = Runtime::create()});
  const Tool tool{.name = "t",
                  .timeout = 20s,
                  .command = Command{.argv = {"sh", "-c", "echo started; wc -c"}, .input = CommandInput::json}};
  bool started = false;
  CallOptions options;
  options.on_tool_progress = [&](const ToolCall&, const Json&) { started = true; };
  const Json arguments = {{"text", std::string(std::size_t{8} << 20U, 'x')}};
  EventStream events = stream_tool_calls({{.id = "c", .name = "t", .arguments = arguments}}, {tool}, options, engine);
  while (!started) events.next(std::chrono::steady_clock::now() + 1ms);
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const Fd reads(ends[0]);
  Fd writes(ends[1]);
  const pid_t child = start_child(&fork, [&] {
    writes.reset();
    char byte = 0;
    return read(reads.get(), &byte, 1) == 0 ? 0 : 1;  // until the parent closes its end
  });
  std::string result;
  while (const Poll event = events.next()) {
    if (const auto* encoded = event->get_if<ToolResultEncoded>()) result = encoded->content;
  }
  EXPECT_EQ(result, "started\n" + std::to_string((std::size_t{8} << 20U) + 11));
  writes.reset();
  EXPECT_EQ(status_of(child), 0);
}

TEST(AttackForkedChild, MakesItsOwnRuntimeAndWorkersWhileItsParentGoesOn) {
  if (kSanitized) GTEST_SKIP() << "sanitizers do not support new threads in a child of a process with threads";
  const Engine engine({.runtime = Runtime::create({.max_workers = 4})});
  ASSERT_TRUE(run_tool_calls(echo_calls(8, 0), {echo.tool()}, {}, engine).has_value());
  const auto wrong = [](const Engine& used, int first) {
    const auto batch = run_tool_calls(echo_calls(200, first), {echo.tool()}, {}, used);
    if (!batch) return -1;
    int count = 0;
    for (std::size_t i = 0; i < batch->messages.size(); ++i) {
      if (batch->messages[i].text() != std::to_string(static_cast<std::size_t>(first) + i)) ++count;
    }
    return count;
  };
  const pid_t child = start_child(&fork, [&] {
    if (run_tool_calls(echo_calls(1, 0), {echo.tool()}, {}, engine).has_value()) return 2;
    return wrong(Engine({.runtime = Runtime::create({.max_workers = 4})}), 100'000) == 0 ? 0 : 1;
  });
  EXPECT_EQ(wrong(engine, 0), 0);
  EXPECT_EQ(status_of(child), 0);
}

TEST(AttackForkedChild, ExitWithStaticDestructionDoesNotDisturbTheParent) {
  if (kSanitized) GTEST_SKIP() << "a leak checker does not see what the threads of the parent hold";
  const Engine engine({.runtime = Runtime::create({.max_workers = 2})});
  ASSERT_TRUE(run_tool_calls(echo_calls(4, 0), {echo.tool()}, {}, engine).has_value());
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    std::exit(0);
  }
  const auto batch = run_tool_calls(echo_calls(100, 0), {echo.tool()}, {}, engine);
  ASSERT_TRUE(batch.has_value());
  for (std::size_t i = 0; i < batch->messages.size(); ++i) EXPECT_EQ(batch->messages[i].text(), std::to_string(i));
  EXPECT_EQ(status_of(child), 0);
}

// A program with workers and commands forks a child that never ends, and is killed.
TEST(AttackForkedChild, ALivingChildKeepsNoWorkerAliveAfterTheProgramWasKilled) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const Fd reads(ends[0]);
  Fd writes(ends[1]);
  const pid_t program = fork();
  if (program == 0) {
    dup2(writes.get(), STDOUT_FILENO);
    execl(ALLM_MISBEHAVE, "allm_misbehave", "forks", nullptr);
    _exit(127);
  }
  writes.reset();
  std::array<char, 32> text{};
  ssize_t got = 0;
  while (got < static_cast<ssize_t>(text.size()) - 1) {
    const ssize_t more = read(reads.get(), text.data() + got, text.size() - 1 - static_cast<std::size_t>(got));
    if (more <= 0) break;
    got += more;
    if (text[static_cast<std::size_t>(got) - 1] == '\n') break;
  }
  const pid_t forked = static_cast<pid_t>(std::strtol(text.data(), nullptr, 10));
  ASSERT_GT(forked, 0);
  std::vector<pid_t> started = descendants(program);
  EXPECT_GE(started.size(), 4U) << "the forked child, the process supervisor, a worker and a command";
  std::erase(started, forked);
  kill(program, SIGKILL);
  waitpid(program, nullptr, 0);
  eventually([&] { return std::ranges::all_of(started, has_ended); }, "the end of all but the forked child");
  EXPECT_FALSE(has_ended(forked));
  kill(forked, SIGKILL);
}

}  // namespace
}  // namespace allm::testing::fork_attack_test
