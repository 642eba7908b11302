// A guard: the process between the process supervisor and one worker or command.
//
// Whatever the tool starts is a descendant of its guard, also after double forks and clone(CLONE_PARENT). The guard
// ends all of them when the tool ends, when it is told to, and when the supervisor or the program has ended. It has one
// thread and runs no code of tools.
#pragma once

#include <expected>
#include <string>
#include <sys/types.h>

#include "process/containment.hpp"
#include "process/fd.hpp"

namespace allm {

// A guard gets its jobs from the program itself, one after the other, over a socket that only the two use (its place).
// So a job does not wait until the supervisor has been woken up. The program sends the other end of the socket to the
// supervisor, and may send the first job before the guard exists.
//
// The supervisor's side of a guard. Over `line` it sends single bytes; the guard answers with one frame for each job
// that has ended, a JobEnd. A guard whose tool has ended and left no process behind then waits for the next job (kWaits
// in the frame); every other guard ends.
//
// The end of a tool that exits with status 0 is told to the program directly instead, if it needs no error output: the
// job's id, eight bytes. Such a guard waits, too. So a usual command does not need the supervisor at all.
struct Guard {
  pid_t pid = 0;
  Fd line;
  std::string cgroup = {};  // the folder of its job's cgroup, if it has one
};
inline constexpr char kTerminateJob = 't';  // SIGTERM to the job's process group
inline constexpr char kKillJob = 'k';       // ends all processes of the job
inline constexpr const char* kWaits = "waits";

// What a guard inherits.
struct GuardPlan {
  ChosenContainment containment = {};
  int lifeline = -1;        // hangs up when the program ends or gives up the supervisor
  int program = -1;         // pidfd of the program
  int ends = -1;            // pipe to the program, see kEndsFd
  std::string cgroup = {};  // for containment by cgroups: the folder of the supervisor's cgroup
};

// Starts a guard that takes its jobs from `place`. Only for the process supervisor, which has one thread.
std::expected<Guard, std::string> start_guard(const GuardPlan& plan, int place);

}  // namespace allm
