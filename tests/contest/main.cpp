// The tests, and the processes that they start.
#include <csignal>
#include <cstdlib>
#include <string>
#include <sys/prctl.h>
#include <vector>

#include <gtest/gtest.h>

#include "allm/workers.hpp"

#include "tests/contest/contest.hpp"

int main(int argc, char** argv) {
  using namespace allm::contest;
  allm::run_as_worker_if_asked(contest_tools("stopped", "worker"));
  const std::vector<std::string> words(argv, argv + argc);
  const bool is_child = words.size() == 6 && (words[1] == "answer" || words[1] == "run");
  if (is_child) ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // also if it is stopped
  if (is_child && words[1] == "answer") {
    return answer(words[2], words[3], std::atoi(words[4].c_str()), std::atoi(words[5].c_str()));
  }
  if (is_child) return run_until_stopped({words[2], words[3], words[4], words[5]});
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
