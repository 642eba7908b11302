// The system calls that a sandboxed process may use, as a filter for seccomp.
#pragma once

#include <linux/filter.h>
#include <span>

#include "allm/lane.hpp"

namespace allm {

// The filter lists what is allowed, so that calls which newer kernels add are refused: they give ENOSYS, as on an older
// kernel, and libraries fall back to older calls. Calls that a tool should see as refused give EPERM, EACCES or EROFS.
// Calls of other architectures kill the process.
//
// With `refuse_truncation`, files that are not open for writing cannot be truncated: Landlock before version 3 does not
// see that.
//
// Made once for each kind of sandbox, which takes milliseconds, and never destroyed. Empty if libseccomp fails. One
// thread at a time.
std::span<const sock_filter> call_filter(const Sandbox& sandbox, bool refuse_truncation);

// Children that this process forks from now on share their filters with it and with each other: one that any of them
// has made is made for all. For the process supervisor, whose guards run no code of tools.
void share_call_filters();

}  // namespace allm
