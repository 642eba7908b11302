#include "process/role.hpp"

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>
#include <sys/stat.h>

namespace allm {
namespace {

std::atomic<bool> worker_entry_point{false};

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
  // Any process may have set the variable, so the socket is checked too.
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

void set_has_worker_entry_point() { worker_entry_point = true; }
bool has_worker_entry_point() { return worker_entry_point; }

}  // namespace allm
