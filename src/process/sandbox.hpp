// Sandboxes: prepared in the process supervisor, put on in the process that is being started.
#pragma once

#include <linux/filter.h>
#include <string>
#include <vector>

#include "allm/lane.hpp"

#include "process/fd.hpp"

namespace allm {

// What the kernel has. Landlock's version is 0 where it has none.
struct KernelFeatures {
  bool seccomp = false;
  int landlock = 0;
  bool lists_children = false;  // /proc tells a process's children
};
KernelFeatures kernel_features();

class PreparedSandbox {
 public:
  PreparedSandbox() = default;  // nothing is forbidden
  // Says in `problem` what this kernel cannot enforce; the sandbox then does the rest.
  static PreparedSandbox prepare(const Sandbox& sandbox, std::string& problem);

  // For the calling process, for good. Only system calls: it may share its memory. False with errno set.
  bool put_on() const;

 private:
  Fd rules_;                         // of Landlock
  std::vector<sock_filter> filter_;  // of seccomp
};

}  // namespace allm
