#include "tests/kill/traced_process.hpp"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <sys/ptrace.h>
#include <sys/wait.h>

namespace allm::kill_matrix {
namespace {

constexpr int kSystemCall = SIGTRAP | 0x80;  // PTRACE_O_TRACESYSGOOD

// The next change of a thread of the traced process. The children of other threads of this program are not waited for.
pid_t next_change(int& status) {
  while (true) {
    const pid_t thread = waitpid(-1, &status, __WALL | __WNOTHREAD);
    if (thread >= 0 || errno != EINTR) return thread;
  }
}

std::int64_t number_of_call(pid_t thread) {
  __ptrace_syscall_info info{};
  if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof(info), &info) <= 0) return -1;
  if (info.op == PTRACE_SYSCALL_INFO_ENTRY) return static_cast<std::int64_t>(info.entry.nr);
  return -1;
}

// The signal to hand to a thread that has stopped. Its own SIGSTOP and those of new threads only begin the tracing.
int signal_of(int status) {
  const bool is_event = (status >> 16) != 0;
  const int signal = WSTOPSIG(status);
  return is_event || signal == kSystemCall || signal == SIGSTOP ? 0 : signal;
}

}  // namespace

TracedEnd kill_at_system_call(pid_t process, std::int64_t kill_at) {
  TracedEnd end;
  bool is_traced = false;
  while (true) {
    int status = 0;
    const pid_t thread = next_change(status);
    if (thread < 0) std::abort();
    if (!WIFSTOPPED(status)) {
      if (thread != process) continue;
      end.status = status;
      return end;
    }
    if (!is_traced) {
      is_traced = true;
      ptrace(PTRACE_SETOPTIONS, process, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL);
    }
    if (WSTOPSIG(status) == kSystemCall && ++end.stops == kill_at) {
      end.call = number_of_call(thread);
      kill(process, SIGKILL);
    }
    // Fails for a process that was killed meanwhile.
    ptrace(PTRACE_SYSCALL, thread, nullptr, static_cast<std::size_t>(signal_of(status)));
  }
}

}  // namespace allm::kill_matrix
