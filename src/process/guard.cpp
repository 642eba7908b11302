#include "process/guard.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "data/read_file.hpp"
#include "process/guard_process.hpp"

namespace allm {

std::expected<Guard, std::string> start_guard(const GuardPlan& plan, int place) {
  std::array<int, 2> line{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line.data()) != 0) {
    return std::unexpected("no socket could be made: " + errno_text(errno));
  }
  Guard guard{.line = Fd(line[0])};
  const Fd their_line(line[1]);

  JobCgroup cgroup;
  if (plan.containment.kind == Containment::cgroup) {
    static unsigned long made = 0;
    auto job_cgroup = make_job_cgroup(plan.cgroup, ++made);
    if (!job_cgroup) return std::unexpected(job_cgroup.error());
    cgroup = *std::move(job_cgroup);
    guard.cgroup = cgroup.folder;
  }
  const IdMaps maps;
  const bool in_namespace = plan.containment.kind == Containment::pid_namespace;
  guard.pid = in_namespace ? fork_into_pid_namespace(plan.containment.namespaces.with_user_namespace, SIGCHLD) : fork();
  if (guard.pid < 0) return std::unexpected("no guard process could be made: " + errno_text(errno));
  if (guard.pid == 0) {
    GuardProcess(plan, maps, their_line.get(), place, std::move(cgroup)).run();
  }
  return guard;
}

}  // namespace allm
