// Starts a process under limits. Only the process supervisor, which has one thread, calls this.
#pragma once

#include <expected>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "process/job.hpp"

namespace allm {

// The descriptors of the new process. All others are closed.
struct LaunchFds {
  std::vector<std::pair<int, int>> moves;  // {our descriptor, its number in the new process}
  int error_output = -1;                   // becomes standard error, and standard output unless `moves` has one
  int cgroup = -1;                         // cgroup.procs of the cgroup that the new process enters
};

// Returns the process id. The process leads a session and a process group of its own and is killed when the caller
// dies. The error is a message.
std::expected<pid_t, std::string> launch(const JobRequest& request, const LaunchFds& fds);

}  // namespace allm
