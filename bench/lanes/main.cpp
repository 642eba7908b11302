// The cost of a tool call without its handler, for each lane. The baseline of a command is posix_spawn of the same
// program.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "allm/allm.hpp"

namespace {

using Clock = std::chrono::steady_clock;

template <class Run>
std::vector<double> times_us(int count, Run run) {
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    const auto begin = Clock::now();
    run();
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  return times;
}

double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

void print(const char* what, const std::vector<double>& times, const char* target) {
  fmt::print("{:<42} median {:>8.1f} us   99 % {:>8.1f} us   {}\n", what, quantile(times, 0.5), quantile(times, 0.99),
             target);
}

void call(const allm::Tool& tool) {
  const auto batch = allm::run_tool_calls({{.id = "c", .name = tool.name}}, {tool});
  if (!batch || batch->messages[0].text() != "done") {
    fmt::print(stderr, "a call went wrong: {}\n", batch ? batch->messages[0].text() : batch.error().message());
    std::exit(1);
  }
}

// Each call has a guard process of its own, most of which are new.
void call_four_at_once(const allm::Tool& tool) {
  std::vector<allm::ToolCall> calls;
  for (const char* id : {"c1", "c2", "c3", "c4"}) calls.push_back({.id = id, .name = tool.name});
  const auto batch = allm::run_tool_calls(calls, {tool});
  if (!batch || batch->messages[3].text() != "done") {
    fmt::print(stderr, "calls went wrong: {}\n", batch ? batch->messages[3].text() : batch.error().message());
    std::exit(1);
  }
}

// The least that a program does to run a command: start it, read its output to the end, wait for it.
void spawn_bare() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) std::exit(1);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::string program = "echo";
  std::string argument = "done";
  std::array<char*, 3> arguments = {program.data(), argument.data(), nullptr};
  pid_t pid = 0;
  if (posix_spawnp(&pid, program.c_str(), &actions, nullptr, arguments.data(), environ) != 0) std::exit(1);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::array<char, 4096> buffer{};
  while (read(ends[0], buffer.data(), buffer.size()) > 0) {
  }
  close(ends[0]);
  waitpid(pid, nullptr, 0);
}

}  // namespace

int main() {
  allm::Tool worker{
      .name = "worker", .handler = [](const allm::Json&) { return allm::ok("done"); }, .lane = allm::Lane::worker};
  allm::run_as_worker_if_asked({worker});
  allm::Tool thread = worker;
  thread.lane = allm::Lane::thread;
  const allm::Tool command{.name = "command", .command = allm::Command{.argv = {"echo", "done"}}};

  for (const allm::Tool& tool : {thread, worker, command}) times_us(200, [&] { call(tool); });
  print("a call in the thread lane", times_us(20'000, [&] { call(thread); }), "<= 10 us");
  print("a call in a warm worker", times_us(10'000, [&] { call(worker); }), "<= 60 us");

  std::vector<double> ours;
  std::vector<double> bare;
  for (int i = 0; i < 50; ++i) {
    for (const double time : times_us(20, [&] { call(command); })) ours.push_back(time);
    for (const double time : times_us(20, [] { spawn_bare(); })) bare.push_back(time);
  }
  print("a command", ours, "");
  print("posix_spawn of the same program", bare, "");
  fmt::print("{:<42} {:.2f} x   <= 1.2 x\n", "a command, beside posix_spawn",
             quantile(ours, 0.5) / quantile(bare, 0.5));

  allm::Tool sandboxed = command;
  sandboxed.limits.sandbox = {.network = false, .read_only = true};
  call_four_at_once(sandboxed);
  print("a sandboxed command", times_us(300, [&] { call(sandboxed); }), "");
  print("four commands at once", times_us(100, [&] { call_four_at_once(command); }), "");
  print("four sandboxed commands at once", times_us(100, [&] { call_four_at_once(sandboxed); }), "");
}
