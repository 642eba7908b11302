// cgroups, version 2: the kernel kills all processes in one at once (cgroup.kill, Linux 5.14).
#pragma once

#include <expected>
#include <string>

#include "process/fd.hpp"

namespace allm {

// The cgroup of a process supervisor. The owner holds a lock on its folder, so that others know that it is in use.
struct SupervisorCgroup {
  std::string folder = {};
  Fd lock = {};
};
// Makes one below that of the calling process, and removes those that supervisors which were killed have left there.
// The error says why this machine does not allow it.
std::expected<SupervisorCgroup, std::string> make_supervisor_cgroup();
// Whether that is allowed, by trying it.
std::expected<void, std::string> probe_cgroups();

// The cgroup of one job, below that of its process supervisor.
struct JobCgroup {
  std::string folder = {};
  Fd members = {};  // a process that writes "0" to it becomes a member
  Fd kill = {};     // "1" kills all members
};
std::expected<JobCgroup, std::string> make_job_cgroup(const std::string& parent, unsigned long number);

// Kills all members, also those of cgroups below.
void kill_cgroup(const std::string& folder);
// Removes it and those below, as far as they are empty.
void remove_cgroup(const std::string& folder);

}  // namespace allm
