#include "process/sweep.hpp"

#include <array>
#include <chrono>
#include <csignal>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

namespace allm::sweep_test {
namespace {

// Runs in a process of its own. The exit status is 0 if no process is left.
int sweep_processes_that_replace_themselves() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  for (int i = 0; i < 16; ++i) {
    if (fork() != 0) continue;
    setsid();
    while (true) {
      if (fork() > 0) _exit(0);
    }
  }
  const auto reap = [] {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  };
  const std::string left = run_sweep({.roots = own_children, .reap = reap, .roots_keep_ids = true});
  return left.empty() && waitpid(-1, nullptr, WNOHANG) < 0 ? 0 : 1;
}

TEST(Sweep, EndsProcessesThatReplaceThemselves) {
  const pid_t child = fork();
  if (child == 0) _exit(sweep_processes_that_replace_themselves());
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// As above. The sweep has time for one pass only, and the root ends in the middle of it: what it started then has
// another parent.
int sweep_once_below_a_root_that_ends() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  alarm(60);  // a test that fails must end
  std::array<int, 2> ready{};
  if (pipe(ready.data()) != 0) return 2;
  const pid_t root = fork();
  if (root == 0) {
    if (fork() == 0) {
      alarm(60);
      if (write(ready[1], "r", 1) != 1) _exit(1);
    }
    while (true) pause();
  }
  char byte = 0;
  if (read(ready[0], &byte, 1) != 1) return 3;
  int looks = 0;
  const auto roots = [&] {
    siginfo_t facts{};
    if (++looks > 1) waitid(P_PID, static_cast<id_t>(root), &facts, WEXITED | WNOWAIT);
    return std::vector<pid_t>{root};
  };
  run_sweep({.roots = roots, .roots_keep_ids = true, .limit = std::chrono::milliseconds(0)});
  while (waitpid(-1, nullptr, 0) > 0) {
  }
  return 0;
}

TEST(Sweep, OnePassEndsAllThatARootHasStarted) {
  const pid_t child = fork();
  if (child == 0) _exit(sweep_once_below_a_root_that_ends());
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace allm::sweep_test
