// What the tests of the SQLite store share: folders that are removed at the end, and child processes.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "allm/work_queue.hpp"

#include "stores/sqlite/sqlite_store.hpp"

namespace allm::testing {

// A folder for one test, in memory if the system has such a file system: the disk would make the tests wait for it.
class TestFolder {
 public:
  TestFolder() {
    std::string name = "/dev/shm/allm-sqlite-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) {
      name = ::testing::TempDir() + "/allm-sqlite-XXXXXX";
      if (mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "there is no folder for files of tests";
    }
    path_ = name;
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const std::string& name = "store.db") const { return (path_ / name).string(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::shared_ptr<Store> open_or_fail(const std::string& path) {
  Result<std::shared_ptr<Store>> store = open_sqlite_store({.path = path});
  EXPECT_TRUE(store.has_value()) << store.error().message();
  return store ? *store : nullptr;
}

// The exit status of a child that runs `body`; its alarm kills a child that hangs.
inline int status_in_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(body());
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The reason of the error of a result; fails the test if it has none or another kind of error.
template <class T>
StoreError::Reason reason_of(const Result<T>& result) {
  if (!result) {
    if (const auto* error = result.error().template get_if<StoreError>()) return error->reason;
    ADD_FAILURE() << result.error().message();
  } else {
    ADD_FAILURE() << "there is no error";
  }
  return StoreError::Reason::unavailable;
}

inline Session saying(std::string text, std::optional<std::string> id = std::nullopt) {
  return {.id = std::move(id), .thread = Thread({user(std::move(text))})};
}

}  // namespace allm::testing
