// Keeps other processes of the same user out of this process's memory.
#pragma once

namespace allm {

// While one of these with `protect` exists, the process is not dumpable (PR_SET_DUMPABLE): processes without
// CAP_SYS_PTRACE cannot trace it or open /proc/PID/mem, environ and fd, and it writes no core dump. The last one
// restores what was set before. Safe to use from any thread.
class MemoryProtection {
 public:
  explicit MemoryProtection(bool protect);
  MemoryProtection(const MemoryProtection&) = delete;
  MemoryProtection& operator=(const MemoryProtection&) = delete;
  ~MemoryProtection();

 private:
  const bool protects_;
};

}  // namespace allm
