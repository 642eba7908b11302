// Kills a process at one of its system calls.
#pragma once

#include <cstdint>
#include <sys/types.h>

namespace allm::kill_matrix {

struct TracedEnd {
  int status = 0;          // as waitpid gives it
  std::int64_t stops = 0;  // entries and exits of system calls, of all its threads
  std::int64_t call = -1;  // the number of the system call at which it was killed
};

// `process` is a child of the calling thread, called PTRACE_TRACEME and stops itself. It is killed with SIGKILL at its
// entry or exit of a system call with the number `kill_at`, counted from 1 over all its threads: at an entry, the call
// is not made. If it makes fewer, it ends by itself. Its children are not traced. Blocks until it has ended; the
// calling thread must have no other children.
TracedEnd kill_at_system_call(pid_t process, std::int64_t kill_at);

}  // namespace allm::kill_matrix
