#include "process/pid_namespace.hpp"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <string_view>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "data/read_file.hpp"
#include "process/fd.hpp"

namespace allm {
namespace {

// "ID ID 1": the id is the same inside and outside.
void write_map(std::array<char, 32>& map, unsigned id) {
  char* at = map.data();
  char* const end = map.data() + map.size() - 1;
  for (int i = 0; i < 2; ++i) {
    at = std::to_chars(at, end, id).ptr;
    *at++ = ' ';
  }
  *at = '1';
}

bool write_text(const char* path, const char* text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const auto size = static_cast<ssize_t>(std::strlen(text));
  const bool written = write(fd, text, static_cast<std::size_t>(size)) == size;
  const int error = errno;
  close(fd);
  errno = error;
  return written;
}

struct ProbeReport {
  int error = 0;
  bool own_proc = false;
};

std::expected<ProbeReport, int> probe(bool with_user_namespace) {
  const IdMaps maps;
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return std::unexpected(errno);
  const Fd ours(ends[0]);
  Fd theirs(ends[1]);
  const pid_t child = fork_into_pid_namespace(with_user_namespace, 0);
  if (child < 0) return std::unexpected(errno);
  if (child == 0) {
    ProbeReport report;
    report.error = set_up_pid_namespace(with_user_namespace, maps, report.own_proc);
    [[maybe_unused]] const ssize_t written = write(theirs.get(), &report, sizeof report);
    _exit(0);
  }
  theirs.reset();
  ProbeReport report{.error = ECHILD};
  while (read(ours.get(), &report, sizeof report) < 0 && errno == EINTR) {
  }
  while (waitpid(child, nullptr, __WALL) < 0 && errno == EINTR) {
  }
  if (report.error != 0) return std::unexpected(report.error);
  return report;
}

}  // namespace

IdMaps::IdMaps() {
  write_map(user, geteuid());
  write_map(group, getegid());
}

pid_t fork_into_pid_namespace(bool with_user_namespace, int end_signal) {
  unsigned long flags = CLONE_NEWPID | CLONE_NEWNS | static_cast<unsigned long>(end_signal);
  if (with_user_namespace) flags |= CLONE_NEWUSER;
  return static_cast<pid_t>(syscall(SYS_clone, flags, nullptr, nullptr, nullptr, nullptr));
}

int set_up_pid_namespace(bool with_user_namespace, const IdMaps& maps, bool& own_proc) {
  if (with_user_namespace) {
    // Only a dumpable process may write its maps.
    prctl(PR_SET_DUMPABLE, 1);
    if (!write_text("/proc/self/setgroups", "deny") || !write_text("/proc/self/uid_map", maps.user.data()) ||
        !write_text("/proc/self/gid_map", maps.group.data())) {
      return errno;
    }
  }
  // Mounts of the system still appear here, but none made here appears there.
  own_proc = mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0 &&
             mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0;
  return 0;
}

std::expected<PidNamespaces, std::string> probe_pid_namespaces() {
  auto report = probe(false);
  // Root gets no user namespace: files of other users would not be accessible in it.
  const bool with_user_namespace = !report && geteuid() != 0;
  if (with_user_namespace) report = probe(true);
  if (!report) return std::unexpected("this system allows no PID namespaces: " + errno_text(report.error()));
  return PidNamespaces{.with_user_namespace = with_user_namespace, .own_proc = report->own_proc};
}

}  // namespace allm
