// misbehave KIND: a command that misbehaves. misbehave program: starts workers and commands for ever, for tests that
// kill it. misbehave thread KIND: a handler on a pool thread that misbehaves. misbehave dumpable protected|open: says
// with its status when its memory is protected. misbehave hostile KIND MARK: a command that attacks its supervision.
// misbehave attacked LANE KIND MARK CONTAINMENT: a program that calls such a tool. misbehave forks,
// misbehave without_threads USE: see attacked.hpp.
#include <cstdio>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <unistd.h>

#include "allm/allm.hpp"

#include "tests/attack/lanes/hostile_processes.hpp"
#include "tests/lanes/misbehaviour.hpp"
#include "tests/lanes/programs/attacked.hpp"

namespace {

void start_processes_for_ever() {
  using namespace allm;
  Tool worker = testing::worker_tool("sleeps");
  Tool stubborn = testing::worker_tool("ignores_sigterm");
  Tool command = testing::command_tool("sleeps");
  command.name = "command";
  Tool shell{.name = "shell", .command = Command{.argv = {"sh", "-c", "sleep 1000 & setsid sleep 1000 & wait"}}};
  for (Tool* tool : {&command, &shell}) tool->command->pass_environment.emplace_back("ALLM_TEST_MARK");
  std::puts("begun");
  std::fflush(stdout);
  for (int i = 0;; ++i) {
    std::vector<ToolCall> calls;
    for (const char* name : {"sleeps", "ignores_sigterm", "command", "shell"}) {
      calls.push_back({.id = std::to_string(calls.size()), .name = name});
    }
    run_tool_calls(calls, {worker, stubborn, command, shell}, {.tool_timeout = std::chrono::milliseconds(5 + i % 50)});
  }
}

// Misbehaves on a pool thread of this process.
int run_on_a_thread(const std::string& kind) {
  using namespace allm;
  const Tool tool{.name = "t", .handler = [&](const Json&) { return testing::misbehave(kind); }};
  const auto batch = run_tool_calls({{.id = "c", .name = "t"}}, {tool});
  std::puts(batch ? batch->messages[0].text().c_str() : "no batch");
  return 0;
}

// Whether the process was dumpable before, during and after its use of commands, as three digits.
int dumpable(bool protect) {
  using namespace allm;
  int digits = 10 * prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
  {
    const Engine engine({.runtime = Runtime::create({.protect_memory = protect})});
    run_tool_calls({{.id = "c", .name = "t"}}, {{.name = "t", .command = Command{.argv = {"true"}}}}, {}, engine);
    digits += prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
  }
  // Threads that ran the calls may hold the runtime a little longer.
  for (int i = 0; i < 10'000 && prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0; ++i) usleep(1000);
  return 10 * digits + prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
}

// Runs until it is killed.
int call_hostile_tool(const std::string& lane, const std::string& kind, const std::string& mark, int containment) {
  using namespace allm;
  Tool tool = lane == "worker" ? testing::hostile_processes::hostile_worker()
                               : testing::hostile_processes::hostile_command(kind, mark);
  tool.timeout = std::chrono::hours(1);
  const auto runtime = Runtime::create({.containment = static_cast<Containment>(containment)});
  run_tool_calls({{.id = "c", .name = tool.name, .arguments = {{"kind", kind}, {"mark", mark}}}}, {tool}, {},
                 Engine({.runtime = runtime}));
  while (true) pause();
}

}  // namespace

int main(int count, char** arguments) {
  allm::run_as_worker_if_asked(allm::testing::worker_tools());
  const std::string kind = count > 1 ? arguments[1] : "";
  if (kind == "program") start_processes_for_ever();
  if (kind == "dumpable") return dumpable(std::string_view(arguments[2]) == "protected");
  if (kind == "forks") allm::testing::fork_and_wait();
  if (kind == "without_threads") return allm::testing::use_without_threads(arguments[2]);
  if (kind == "thread") return run_on_a_thread(arguments[2]);
  if (kind == "hostile") {
    allm::testing::hostile_processes::attack_supervision(arguments[2], arguments[3]);
    return 0;
  }
  if (kind == "attacked") {
    return call_hostile_tool(arguments[2], arguments[3], arguments[4], std::stoi(arguments[5]));
  }
  const allm::ToolOutcome outcome = allm::testing::misbehave(kind);
  std::puts(std::get<allm::ToolOk>(outcome).value.get<std::string>().c_str());
  return 0;
}
