// Starting a process under limits. Only the process supervisor does, which has one thread.
#pragma once

#include <expected>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "process/job.hpp"

namespace allm {

// What the process finds at its descriptors; others are closed.
struct LaunchFds {
  std::vector<std::pair<int, int>> moves;  // from one of ours to its number there
  int error_output = -1;                   // ours; its standard error, and its standard output unless that is moved
};

// The process's id; it leads a session, and so a group, of its own, and is killed when the caller dies. An error says
// what could not be done.
std::expected<pid_t, std::string> launch(const JobRequest& request, const LaunchFds& fds);

}  // namespace allm
