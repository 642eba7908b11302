#include "tests/kill/lives.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <spawn.h>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "tests/kill/traced_process.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): glibc declares it only for GNU sources

namespace allm::kill_matrix {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kCommand = "live";

std::vector<std::string> command_line(const Life& life) {
  return {"/proc/self/exe",
          std::string(kCommand),
          life.store,
          life.session,
          life.effects,
          life.lane,
          std::to_string(life.number),
          std::to_string(static_cast<int>(life.death.kind)),
          std::to_string(life.death.at)};
}

// Starts the program with `output` as its standard output.
pid_t start(const Life& life, int output) {
  std::vector<std::string> words = command_line(life);
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  pid_t child = 0;
  if (posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ) != 0) std::abort();
  posix_spawn_file_actions_destroy(&actions);
  return child;
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

bool LifeEnd::was_killed() const { return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL; }
bool LifeEnd::ended_with(int exit_status) const { return WIFEXITED(status) && WEXITSTATUS(status) == exit_status; }

LifeEnd live_once(const Life& life) {
  std::array<int, 2> ready{};
  if (pipe2(ready.data(), O_CLOEXEC) != 0) std::abort();
  const pid_t child = start(life, ready[1]);
  close(ready[1]);
  LifeEnd end;
  if (life.death.kind == DeathKind::at_system_call) {
    const TracedEnd traced = kill_at_system_call(child, life.death.at);
    end = {.status = traced.status, .stops = traced.stops, .call = traced.call};
  } else {
    char byte = 0;
    // Returns nothing if the program ends before it has opened the store.
    const bool has_opened = read(ready[0], &byte, 1) == 1;
    const Clock::time_point opened = Clock::now();
    if (has_opened && life.death.kind == DeathKind::at_moment) {
      std::this_thread::sleep_for(std::chrono::microseconds(life.death.at));
      kill(child, SIGKILL);
    }
    end.status = wait_for(child);
    end.after_opening = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - opened);
  }
  close(ready[0]);
  return end;
}

bool is_life(int argc, char** argv) { return argc == 9 && argv[1] == kCommand; }

Life life_from(char** argv) {
  return {.store = argv[2],
          .session = argv[3],
          .effects = argv[4],
          .lane = argv[5],
          .number = std::atoi(argv[6]),
          .death = {static_cast<DeathKind>(std::atoi(argv[7])), std::atoll(argv[8])}};
}

}  // namespace allm::kill_matrix
