#include "process/call_filter.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <ios>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace allm::call_filter_test {
namespace {

// Whether the memory at this address is shared with other processes.
bool is_shared(const void* address) {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line)) {
    std::istringstream words(line);
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    std::string permissions;
    words >> std::hex >> begin >> dash >> end >> permissions;
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    if (begin <= at && at < end) return permissions.ends_with('s');
  }
  return false;
}

bool are_equal(const sock_filter& a, const sock_filter& b) {
  return a.code == b.code && a.jt == b.jt && a.jf == b.jf && a.k == b.k;
}

TEST(CallFilter, OneThatAChildHasMadeIsUsed) {
  const Sandbox sandbox{.network = true, .read_only = true};
  share_call_filters();
  const pid_t child = fork();
  if (child == 0) _exit(call_filter(sandbox, true).empty() ? 1 : 0);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  const auto filter = call_filter(sandbox, true);
  EXPECT_TRUE(is_shared(filter.data()));
  EXPECT_TRUE(is_shared(call_filter(sandbox, true).data()));

  // Another kind is another filter, and the process that makes it keeps its own.
  const auto other = call_filter({.network = false, .read_only = true}, true);
  EXPECT_FALSE(other.empty());
  EXPECT_FALSE(is_shared(other.data()));
  EXPECT_FALSE(std::ranges::equal(filter, other, are_equal));
}

}  // namespace
}  // namespace allm::call_filter_test
