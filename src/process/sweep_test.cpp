#include "process/sweep.hpp"

#include <csignal>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

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

}  // namespace
}  // namespace allm::sweep_test
