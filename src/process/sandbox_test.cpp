// Sandboxes on this kernel and, by using less of it, on older ones.
#include "process/sandbox.hpp"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace allm::sandbox_test {
namespace {

namespace fs = std::filesystem;

class SandboxOf : public ::testing::TestWithParam<int> {
 protected:
  SandboxOf() : folder_(fs::path(::testing::TempDir()) / ("allm_sandbox_unit_" + std::to_string(getpid()))) {
    fs::create_directories(folder_ / "a");
    fs::create_directories(folder_ / "b");
    std::ofstream(folder_ / "a" / "file") << "text";
  }
  ~SandboxOf() override { fs::remove_all(folder_); }
  void SetUp() override {
    features_ = kernel_features();
    if (!features_.seccomp || features_.landlock < GetParam()) GTEST_SKIP() << "this kernel has less";
    features_.landlock = GetParam();
  }

  // Whether `attempt` is true in a sandboxed child of this process.
  bool holds(const Sandbox& sandbox, const std::function<bool()>& attempt) const {
    std::string error;
    const PreparedSandbox prepared = PreparedSandbox::prepare(sandbox, features_, error);
    EXPECT_EQ(error, "");
    const pid_t child = fork();
    if (child == 0) _exit(prepared.apply() && attempt() ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  std::string file() const { return (folder_ / "a" / "file").string(); }

  fs::path folder_;
  KernelFeatures features_;
};

TEST_P(SandboxOf, OtherProcessesCannotBeOpened) {
  const std::string memory = "/proc/" + std::to_string(getpid()) + "/mem";
  for (const Sandbox& sandbox : {Sandbox{.network = false}, Sandbox{.read_only = true}}) {
    EXPECT_TRUE(holds(sandbox, [&] { return open(memory.c_str(), O_RDONLY | O_CLOEXEC) < 0 && errno == EACCES; }));
  }
}

TEST_P(SandboxOf, WithoutNetworkFilesCanBeWrittenAndMoved) {
  EXPECT_TRUE(holds({.network = false}, [&] {
    std::ofstream(folder_ / "a" / "other") << "more";
    return fs::file_size(folder_ / "a" / "other") == 4 && truncate(file().c_str(), 1) == 0;
  }));
  if (GetParam() == 1) return;  // the first version refuses every move to another folder
  EXPECT_TRUE(holds({.network = false}, [&] { return rename(file().c_str(), (folder_ / "b" / "file").c_str()) == 0; }));
}

TEST_P(SandboxOf, ReadOnlyFilesCannotBeTruncated) {
  const std::string path = file();
  const auto refused = [](long result) { return result < 0; };
  EXPECT_TRUE(holds({.read_only = true}, [&] {
    return refused(truncate(path.c_str(), 0)) && refused(open(path.c_str(), O_RDONLY | O_TRUNC | O_CLOEXEC)) &&
           refused(open(path.c_str(), O_ACCMODE | O_TRUNC | O_CLOEXEC)) &&
           refused(open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC)) &&
           refused(open(path.c_str(), O_RDWR | O_CLOEXEC)) &&
           refused(openat(AT_FDCWD, path.c_str(), O_TRUNC | O_CLOEXEC)) && refused(creat(path.c_str(), 0600));
  }));
  struct OpenHow {
    std::uint64_t flags = O_TRUNC;
    std::uint64_t mode = 0;
    std::uint64_t resolve = 0;
  } how;
  EXPECT_TRUE(holds({.read_only = true},
                    [&] { return refused(syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)); }));
  EXPECT_EQ(fs::file_size(path), 4U);
  EXPECT_TRUE(holds({.read_only = true, .writable = {folder_.string()}}, [&] {
    return open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC) >= 0 && open(path.c_str(), O_RDONLY | O_CLOEXEC) >= 0;
  }));
  EXPECT_EQ(fs::file_size(path), 0U);
}

INSTANTIATE_TEST_SUITE_P(Landlock, SandboxOf, ::testing::Values(1, 2, 3, 4, 5, 6, 7));

TEST(SandboxWithoutLandlock, IsAnError) {
  KernelFeatures features = kernel_features();
  features.landlock = 0;
  for (const Sandbox& sandbox : {Sandbox{.network = false}, Sandbox{.read_only = true}}) {
    std::string error;
    PreparedSandbox::prepare(sandbox, features, error);
    EXPECT_NE(error.find("no Landlock"), std::string::npos) << error;
  }
  std::string error;
  PreparedSandbox::prepare({}, features, error);
  EXPECT_EQ(error, "");
}

}  // namespace
}  // namespace allm::sandbox_test
