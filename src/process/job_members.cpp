#include "process/job_members.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <fcntl.h>
#include <sstream>
#include <string>
#include <unistd.h>

#include "data/read_file.hpp"

namespace allm {
namespace {

// The parent's id as /proc shows it, which may be another one than in this PID namespace. Empty if it does not.
std::string parent_in_proc() {
  const std::string stat = read_file("/proc/self/stat", 4096).value_or("");
  const std::size_t end = stat.rfind(')');
  if (end == std::string::npos) return {};
  std::istringstream rest(stat.substr(end + 1));
  std::string state;
  std::string parent;
  rest >> state >> parent;
  return parent;
}

}  // namespace

JobMembers::JobMembers() {
  const std::string parent = parent_in_proc();
  if (parent.empty() || parent == "0") return;
  children_ = Fd(open(("/proc/" + parent + "/task/" + parent + "/children").c_str(), O_RDONLY | O_CLOEXEC));
}

bool JobMembers::has_others() const {
  if (!children_) return getppid() == 1 && kill(-1, 0) == 0;  // in a PID namespace: all but this process and its guard
  std::array<char, 64> list{};
  const ssize_t got = pread(children_.get(), list.data(), list.size(), 0);
  // Each id is followed by a space.
  return got > 0 && std::count(list.data(), list.data() + got, ' ') > 1;
}

}  // namespace allm
