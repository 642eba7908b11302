// The system calls that a sandboxed process may use, as a filter for seccomp.
#pragma once

#include <linux/filter.h>
#include <vector>

#include "allm/lane.hpp"

namespace allm {

// The filter lists what is allowed, so that calls which newer kernels add are refused: they give ENOSYS, as on an older
// kernel, and libraries fall back to older calls. Calls that a tool should see as refused give EPERM, EACCES or EROFS.
// Calls of other architectures kill the process.
//
// With `refuse_truncation`, files that are not open for writing cannot be truncated: Landlock before version 3 does not
// see that.
//
// Made once for each kind of sandbox and never destroyed. Empty if libseccomp fails. One thread at a time.
const std::vector<sock_filter>& call_filter(const Sandbox& sandbox, bool refuse_truncation);

}  // namespace allm
