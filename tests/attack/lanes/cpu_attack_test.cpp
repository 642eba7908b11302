// A handler uses more CPU time than its call may, and keeps the signal that would end it away.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "allm/tool_runner.hpp"

#include "tests/lanes/misbehaviour.hpp"

namespace allm::testing::cpu_attack_test {
namespace {

const AddedWorkerTool spin("attack_spin", [](const Json&) -> ToolOutcome {
  signal(SIGXCPU, SIG_IGN);
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  // The whole process ignores it from now on, also in calls that come later.
  for (volatile std::uint64_t i = 0;;) i = i + 1;
});

// A number of the worker; its process id may be that of another one in another PID namespace.
const AddedWorkerTool identify("attack_identify", [](const Json&) {
  static const unsigned number = std::random_device()();
  return ok(number);
});

std::string call(const AddedWorkerTool& added, const Engine& engine) {
  Tool tool = added.tool();
  tool.limits.cpu_time = std::chrono::seconds(1);
  tool.timeout = std::chrono::seconds(50);
  const auto batch = run_tool_calls({{.id = "c", .name = tool.name}}, {tool}, {}, engine);
  return batch ? batch->messages.at(0).text() : batch.error().message();
}

TEST(AttackCpuTime, AWorkerThatIgnoresTheSignalIsKilled) {
  const Engine engine({.runtime = Runtime::create({.max_workers = 1})});
  const std::string first = call(identify, engine);
  const std::string answer = call(spin, engine);
  EXPECT_NE(answer.find("handler_exit"), std::string::npos) << answer;
  EXPECT_NE(answer.find("SIGKILL"), std::string::npos) << answer;
  const std::string second = call(identify, engine);
  EXPECT_NE(second, first);
  EXPECT_EQ(call(identify, engine), second) << "a worker that used little CPU time is kept";
}

}  // namespace
}  // namespace allm::testing::cpu_attack_test
