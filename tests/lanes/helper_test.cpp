// Programs without run_as_worker_if_asked in their main use a helper executable.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace helper_test {
namespace {

namespace fs = std::filesystem;

// A folder with a copy of the host program.
class Helper : public testing::Test {
 protected:
  Helper() : folder_(fs::path(testing::TempDir()) / ("allm-helper-" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
    fs::copy_file(ALLM_HOST, folder_ / "host", fs::copy_options::overwrite_existing);
  }
  ~Helper() override { fs::remove_all(folder_); }

  // What the host prints. It ends with `status`: 1 if its run was refused.
  std::string run(const std::string& arguments = "", const std::string& environment = "", int status = 0) const {
    const std::string line = environment + " " + (folder_ / "host").string() + " " + arguments;
    FILE* const pipe = popen(line.c_str(), "r");
    std::string output;
    std::array<char, 4096> buffer{};
    std::size_t got = 0;
    while ((got = fread(buffer.data(), 1, buffer.size(), pipe)) > 0) output.append(buffer.data(), got);
    const int ended = pclose(pipe);
    EXPECT_TRUE(WIFEXITED(ended) && WEXITSTATUS(ended) == status) << output;
    return output;
  }
  static bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

  fs::path folder_;
};

TEST_F(Helper, RunsCommandsOfAHostThatNamesIt) {
  const std::string output = run(ALLM_HELPER_PROGRAM);
  EXPECT_TRUE(has(output, "from a command")) << output;
  EXPECT_TRUE(has(output, "has no handler in the worker")) << output;
}

TEST_F(Helper, CanBeNamedByTheEnvironment) {
  EXPECT_TRUE(has(run("", "ALLM_HELPER=" ALLM_HELPER_PROGRAM), "from a command"));
}

TEST_F(Helper, IsFoundBesideTheProgram) {
  fs::copy_file(ALLM_HELPER_PROGRAM, folder_ / "allm-helper");
  EXPECT_TRUE(has(run(), "from a command"));
}

TEST_F(Helper, WithToolsOfItsOwnRunsWorkers) {
  // The program of these tests calls run_as_worker_if_asked with its tools, as a helper of one's own does.
  const std::string output = run(fs::read_symlink("/proc/self/exe").string());
  EXPECT_TRUE(has(output, "from a command")) << output;
  EXPECT_FALSE(has(output, "from the host")) << output;
  EXPECT_FALSE(has(output, "error")) << output;
}

TEST_F(Helper, AMissingHelperIsAnErrorThatSaysWhereItWasLookedFor) {
  const std::string output = run("", "", 1);
  EXPECT_TRUE(has(output, "tool 'echo' cannot run in another process")) << output;
  EXPECT_TRUE(has(output, (folder_ / "allm-helper").string())) << output;
  EXPECT_TRUE(has(output, "RuntimeOptions::helper")) << output;
  EXPECT_TRUE(has(run("/no/such/helper", "", 1), "/no/such/helper"));
  const std::string named = run("", "ALLM_HELPER=/no/such/helper", 1);
  EXPECT_TRUE(has(named, "the environment variable ALLM_HELPER")) << named;
}

}  // namespace
}  // namespace helper_test
