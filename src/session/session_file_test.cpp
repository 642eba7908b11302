// Sessions on disk: a saved session can be loaded, and a file is never half written.
#include "allm/session_file.hpp"

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "allm/serialize.hpp"

namespace allm::session_file_test {
namespace {

namespace fs = std::filesystem;

class SessionFile : public ::testing::Test {
 protected:
  SessionFile() {
    std::string name = (fs::temp_directory_path() / "allm_session_XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~SessionFile() override { fs::remove_all(folder_); }
  std::string file(const std::string& name) const { return folder_ / name; }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

Session session_of(const std::string& text) { return {.id = "s1", .thread = {user(text)}}; }

mode_t permissions(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(stat(path.c_str(), &status), 0);
  return status.st_mode & 0777U;
}

TEST_F(SessionFile, ASavedSessionCanBeLoaded) {
  const Session session = session_of("hi");
  ASSERT_TRUE(save_session(file("a.json"), session).has_value());
  EXPECT_EQ(load_session(file("a.json")), session);
  EXPECT_EQ(files(), 1U);
}

TEST_F(SessionFile, ANewFileIsPrivateAndAnOldOneKeepsItsPermissions) {
  ASSERT_TRUE(save_session(file("a.json"), session_of("1")).has_value());
  EXPECT_EQ(permissions(file("a.json")), 0600U);
  fs::permissions(file("a.json"), fs::perms(0640));
  ASSERT_TRUE(save_session(file("a.json"), session_of("2")).has_value());
  EXPECT_EQ(permissions(file("a.json")), 0640U);
}

TEST_F(SessionFile, ASymbolicLinkStaysALink) {
  ASSERT_TRUE(save_session(file("a.json"), session_of("1")).has_value());
  fs::create_symlink("a.json", file("link.json"));
  ASSERT_TRUE(save_session(file("link.json"), session_of("2")).has_value());
  EXPECT_TRUE(fs::is_symlink(file("link.json")));
  EXPECT_EQ(load_session(file("a.json")), session_of("2"));
}

TEST_F(SessionFile, ErrorsNameTheFileAndTheReason) {
  const Status missing_folder = save_session(file("no/a.json"), session_of("1"));
  ASSERT_FALSE(missing_folder.has_value());
  EXPECT_TRUE(missing_folder.error().is<ValidationError>(ValidationError::Reason::invalid_session));
  EXPECT_EQ(missing_folder.error().message(),
            "cannot write the session file '" + file("no/a.json") + "': No such file or directory");
  const Result<Session> missing = load_session(file("a.json"));
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().get_if<ValidationError>()->errors.at(0).reason, "enoent");
  std::ofstream(file("broken.json")) << "{";
  const Result<Session> broken = load_session(file("broken.json"));
  ASSERT_FALSE(broken.has_value());
  EXPECT_NE(broken.error().message().find(file("broken.json")), std::string::npos);
}

TEST_F(SessionFile, ASessionThatJsonCannotRepresentKeepsTheOldFile) {
  ASSERT_TRUE(save_session(file("a.json"), session_of("old")).has_value());
  const Status saved = save_session(file("a.json"), session_of("\xff"));
  ASSERT_FALSE(saved.has_value());
  EXPECT_NE(saved.error().message().find(file("a.json")), std::string::npos);
  EXPECT_EQ(load_session(file("a.json")), session_of("old"));
}

// In a child process, because the limit applies to the whole process.
TEST_F(SessionFile, AFullDiskKeepsTheOldFileAndLeavesNoOther) {
  const Session old = session_of("old");
  ASSERT_TRUE(save_session(file("a.json"), old).has_value());
  const Session large = session_of(std::string(100'000, 'x'));
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    const Status saved = save_session(file("a.json"), large);
    _exit(!saved && saved.error().get_if<ValidationError>()->errors.at(0).reason == "efbig" ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(load_session(file("a.json")), old);
  EXPECT_EQ(files(), 1U);
}

TEST_F(SessionFile, AKilledWriterLeavesOneOfTheTwoSessions) {
  const std::array sessions = {session_of(std::string(50'000, 'a')), session_of(std::string(50'000, 'b'))};
  ASSERT_TRUE(save_session(file("a.json"), sessions[0]).has_value());
  for (int round = 0; round < 20; ++round) {
    std::array<int, 2> started{};
    ASSERT_EQ(pipe(started.data()), 0);
    const pid_t child = fork();
    if (child == 0) {
      for (std::size_t i = 0;; ++i) {
        if (!save_session(file("a.json"), sessions.at(i % 2))) _exit(1);
        if (write(started[1], "x", 1) != 1) _exit(1);
      }
    }
    char byte = 0;
    for (int saves = 0; saves <= round % 5; ++saves) ASSERT_EQ(read(started[0], &byte, 1), 1);
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status));
    close(started[0]);
    close(started[1]);
    const Result<Session> loaded = load_session(file("a.json"));
    ASSERT_TRUE(loaded.has_value()) << loaded.error().message();
    EXPECT_TRUE(*loaded == sessions[0] || *loaded == sessions[1]);
  }
}

}  // namespace
}  // namespace allm::session_file_test
