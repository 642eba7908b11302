#include "tests/lanes/processes.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <fcntl.h>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <unistd.h>

#include "process/fd.hpp"

namespace allm::testing {
namespace {

namespace fs = std::filesystem;

// Empty if the process has ended, even if it ends during the read.
std::string contents(const fs::path& path) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 16384> buffer{};
  for (ssize_t got = 0; file && (got = read(file.get(), buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

std::vector<pid_t> all_processes() {
  std::vector<pid_t> pids;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c) != 0; }))
      pids.push_back(std::stoi(name));
  }
  return pids;
}

fs::path folder(pid_t pid) { return fs::path("/proc") / std::to_string(pid); }

struct Facts {
  char state = 'X';
  pid_t parent = 0;
};

// The default values if the process is gone.
Facts facts_of(pid_t pid) {
  Facts facts;
  const std::string stat = contents(folder(pid) / "stat");
  const std::size_t end = stat.rfind(')');  // the name before it may hold anything
  if (end == std::string::npos) return facts;
  std::istringstream rest(stat.substr(end + 1));
  rest >> facts.state >> facts.parent;
  return facts;
}

}  // namespace

std::vector<pid_t> descendants(pid_t ancestor) {
  std::vector<pid_t> found;
  std::vector<pid_t> all = all_processes();
  for (bool more = true; more;) {
    more = false;
    for (pid_t& pid : all) {
      if (pid == 0) continue;
      const pid_t parent = facts_of(pid).parent;
      if (parent != ancestor && std::ranges::find(found, parent) == found.end()) continue;
      found.push_back(pid);
      pid = 0;
      more = true;
    }
  }
  return found;
}

bool has_ended(pid_t pid) {
  const char state = facts_of(pid).state;
  if (state != 'Z') return state == 'X';
  // The first thread may have ended while others still hold the resources of the process.
  std::error_code gone;
  int threads = 0;
  for (fs::directory_iterator at(folder(pid) / "task", gone); !gone && at != fs::directory_iterator();
       at.increment(gone)) {
    ++threads;
  }
  return gone || threads <= 1;
}

std::vector<pid_t> supervisors_of(pid_t program) {
  std::vector<pid_t> found = all_processes();
  std::erase_if(found, [&](pid_t pid) { return facts_of(pid).parent != program || name_of(pid) != "allm-supervisor"; });
  return found;
}

bool only_idle_processes_left() {
  return std::ranges::all_of(descendants(getpid()), [](pid_t pid) {
    const std::string name = name_of(pid);
    return name == "allm-supervisor" || name == "allm-guard" || name == "allm-worker";
  });
}

std::vector<pid_t> processes_with(const std::string& environment_text) {
  std::vector<pid_t> found = all_processes();
  std::erase_if(
      found, [&](pid_t pid) { return contents(folder(pid) / "environ").find(environment_text) == std::string::npos; });
  return found;
}

std::string name_of(pid_t pid) {
  const std::string line = contents(folder(pid) / "cmdline");
  return line.substr(0, line.find('\0'));
}

std::size_t open_files(pid_t pid) {
  std::error_code error;
  const fs::directory_iterator entries(folder(pid) / "fd", error);
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

std::size_t resident_bytes(pid_t pid) {
  std::istringstream numbers(contents(folder(pid) / "statm"));
  std::size_t size = 0;
  std::size_t resident = 0;
  numbers >> size >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace allm::testing
