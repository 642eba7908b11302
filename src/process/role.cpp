#include "process/role.hpp"

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>
#include <sys/stat.h>

namespace allm {
namespace {

std::atomic<bool> does_give_way{false};

bool is_socket(int fd) {
  struct stat facts{};
  return fstat(fd, &facts) == 0 && S_ISSOCK(facts.st_mode);
}

}  // namespace

StartedAs take_role() {
  const char* const value = std::getenv(kRoleVariable);
  if (value == nullptr) return {};
  const std::string text = value;
  unsetenv(kRoleVariable);
  // The variable alone may be anybody's.
  if (!is_socket(kLineFd)) return {};
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return {};
  StartedAs started;
  const std::string_view role = std::string_view(text).substr(0, colon);
  if (role == "supervisor") started.role = ProcessRole::supervisor;
  if (role == "worker") started.role = ProcessRole::worker;
  std::from_chars(text.data() + colon + 1, text.data() + text.size(), started.parent);
  return started;
}

void set_gives_way() { does_give_way = true; }
bool gives_way() { return does_give_way; }

}  // namespace allm
