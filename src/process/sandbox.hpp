// Sandboxes: prepared in the process supervisor, applied in the new process before exec.
#pragma once

#include <linux/filter.h>
#include <span>
#include <string>

#include "allm/lane.hpp"

#include "process/fd.hpp"

namespace allm {

// What the kernel supports. `landlock` is the version of its interface, 0 without Landlock.
struct KernelFeatures {
  bool seccomp = false;
  int landlock = 0;
  bool lists_children = false;  // /proc lists the children of a process
};
KernelFeatures kernel_features();

class PreparedSandbox {
 public:
  PreparedSandbox() = default;  // nothing is forbidden
  // Sets `error` to what this kernel cannot enforce; the sandbox then enforces the rest. One thread at a time.
  static PreparedSandbox prepare(const Sandbox& sandbox, const KernelFeatures& features, std::string& error);

  // Restricts the calling process for the rest of its life. Makes system calls only, because it runs after vfork.
  // False with errno set on failure.
  bool apply() const;

 private:
  bool is_sandboxed_ = false;
  Fd rules_;                             // of Landlock
  std::span<const sock_filter> filter_;  // of seccomp; never destroyed
};

}  // namespace allm
