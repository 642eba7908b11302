#include "process/cgroup.hpp"

#include <cerrno>
#include <chrono>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "data/read_file.hpp"

namespace allm {
namespace {

constexpr std::size_t kMaxFactsBytes = std::size_t{1} << 20U;

// The path after "0::" in /proc/self/cgroup.
std::string path_in_hierarchy() {
  std::istringstream lines(read_file("/proc/self/cgroup", kMaxFactsBytes).value_or(""));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0::/")) return line.substr(3);
  }
  return {};
}

struct Mount {
  std::string root = {};   // the part of the hierarchy that is visible
  std::string point = {};  // where
};
Mount hierarchy_mount() {
  std::istringstream lines(read_file("/proc/self/mountinfo", kMaxFactsBytes).value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t separator = line.find(" - cgroup2 ");
    if (separator == std::string::npos) continue;
    std::istringstream fields(line);
    std::string ignored;
    Mount mount;
    fields >> ignored >> ignored >> ignored >> mount.root >> mount.point;
    return mount;
  }
  return {};
}

std::string own_folder() {
  const std::string path = path_in_hierarchy();
  const Mount mount = hierarchy_mount();
  if (path.empty() || mount.point.empty() || path.find("/..") != std::string::npos) return {};
  const std::string root = mount.root == "/" ? "" : mount.root;
  if (!path.starts_with(root)) return {};
  const std::string below = path.substr(root.size());
  return mount.point + (below == "/" ? "" : below);
}

constexpr const char* kCgroupPrefix = "allm-";

std::vector<std::string> folders_in(const std::string& folder) {
  std::vector<std::string> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), &closedir);
  while (const dirent* entry = entries ? readdir(entries.get()) : nullptr) {
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') found.emplace_back(entry->d_name);
  }
  return found;
}

void remove_abandoned(const std::string& own) {
  for (const std::string& name : folders_in(own)) {
    if (!name.starts_with(kCgroupPrefix)) continue;
    const std::string folder = own + "/" + name;
    const Fd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd && flock(fd.get(), LOCK_EX | LOCK_NB) == 0) remove_cgroup(folder);
  }
}

}  // namespace

std::expected<SupervisorCgroup, std::string> make_supervisor_cgroup() {
  const std::string own = own_folder();
  if (own.empty()) return std::unexpected("this process is in no cgroup of version 2");
  // Processes move from there to the new one.
  if (access((own + "/cgroup.procs").c_str(), W_OK) != 0) {
    return std::unexpected("this user may not change the cgroup " + own);
  }
  remove_abandoned(own);
  // Process ids are not unique: those of a PID namespace begin at 1.
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  SupervisorCgroup made{.folder = own + "/" + kCgroupPrefix + std::to_string(getpid()) + "-" + std::to_string(now)};
  if (mkdir(made.folder.c_str(), 0755) != 0) {
    return std::unexpected("no cgroup can be made in " + own + ": " + errno_text(errno));
  }
  made.lock = Fd(open(made.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (made.lock) flock(made.lock.get(), LOCK_EX | LOCK_NB);
  if (access((made.folder + "/cgroup.kill").c_str(), W_OK) == 0) return made;
  rmdir(made.folder.c_str());
  return std::unexpected("this kernel has no cgroup.kill (it came with Linux 5.14)");
}

std::expected<void, std::string> probe_cgroups() {
  const auto made = make_supervisor_cgroup();
  if (!made) return std::unexpected(made.error());
  rmdir(made->folder.c_str());
  return {};
}

std::expected<JobCgroup, std::string> make_job_cgroup(const std::string& parent, unsigned long number) {
  JobCgroup cgroup{.folder = parent + "/job-" + std::to_string(number)};
  if (mkdir(cgroup.folder.c_str(), 0755) != 0) {
    return std::unexpected("the cgroup " + cgroup.folder + " could not be made: " + errno_text(errno));
  }
  cgroup.members = Fd(open((cgroup.folder + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
  cgroup.kill = Fd(open((cgroup.folder + "/cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC));
  if (cgroup.members && cgroup.kill) return cgroup;
  const int error = errno;
  rmdir(cgroup.folder.c_str());
  return std::unexpected("the cgroup " + cgroup.folder + " could not be opened: " + errno_text(error));
}

void kill_cgroup(const std::string& folder) {
  const Fd file(open((folder + "/cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC));
  if (file) [[maybe_unused]]
    const ssize_t written = write(file.get(), "1", 1);
}

void remove_cgroup(const std::string& folder) {
  for (const std::string& name : folders_in(folder)) rmdir((folder + "/" + name).c_str());
  rmdir(folder.c_str());
}

}  // namespace allm
