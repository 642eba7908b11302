// Facts about processes from /proc, for tests that no process is left behind.
#pragma once

#include <cstddef>
#include <string>
#include <sys/types.h>
#include <vector>

namespace allm::testing {

// Processes, zombies included, that `ancestor` has started, directly or not.
std::vector<pid_t> descendants(pid_t ancestor);
// The process supervisors of a program: its children. A guard, which is a child of a supervisor, has the supervisor's
// name until it has set its own, so the name alone says nothing.
std::vector<pid_t> supervisors_of(pid_t program);
// Whether all descendants of this process are supervisors, guards and workers.
bool only_idle_processes_left();
// Processes whose environment contains the text.
std::vector<pid_t> processes_with(const std::string& environment_text);
// Whether the process is gone or a zombie, so that it holds no resources. (It loses its name before that.)
bool has_ended(pid_t pid);
// The name of its program, as it was started.
std::string name_of(pid_t pid);
std::size_t open_files(pid_t pid);
std::size_t resident_bytes(pid_t pid);

}  // namespace allm::testing
