// Whether a worker is the only process of its job.
#pragma once

#include "process/fd.hpp"

namespace allm {

// For a worker process, whose parent is its guard. One thread at a time.
class JobMembers {
 public:
  JobMembers();
  // Whether the guard has children other than this worker: processes that were started with CLONE_PARENT. Descendants
  // of the worker itself are not looked for. Takes a microsecond or two. False if this system does not tell.
  bool has_others() const;

 private:
  Fd children_;  // the list of the guard's children in /proc
};

}  // namespace allm
