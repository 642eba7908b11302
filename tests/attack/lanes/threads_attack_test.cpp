// The system refuses every new thread. Each part of the library then reports an error; the program does not end.
#include <array>
#include <cstdio>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace allm::testing::threads_attack_test {
namespace {

// The output of `allm_misbehave without_threads KIND`, which uses the library under RLIMIT_NPROC. A leak checker needs
// a thread.
std::string output_of(const std::string& kind, int& status) {
  const std::string command = std::string("ASAN_OPTIONS=\"$ASAN_OPTIONS:detect_leaks=0\" '") + ALLM_MISBEHAVE +
                              "' without_threads " + kind + " 2>&1";
  std::FILE* const pipe = popen(command.c_str(), "r");
  std::string text;
  std::array<char, 4096> buffer{};
  for (std::size_t got = 0; (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    text.append(buffer.data(), got);
  }
  status = pclose(pipe);
  return text;
}

class AttackThreads : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(AttackUses, AttackThreads,
                         ::testing::Values("chat", "stream", "polled_stream", "timer", "thread_tool",
                                           "late_thread_tool", "worker", "command", "warm_worker"));

TEST_P(AttackThreads, RefusedByTheSystemAreAnErrorAndNotTheEnd) {
  int status = 0;
  const std::string text = output_of(GetParam(), status);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status << ": " << text;
  EXPECT_NE(text.find("as expected"), std::string::npos) << text;
}

}  // namespace
}  // namespace allm::testing::threads_attack_test
