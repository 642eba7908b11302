// Detects that this process is a fork of the one that started the runtime: a child process has none of its parent's
// threads, so nothing would ever wake a thread that waits in it.
#pragma once

#include <atomic>
#include <cstdint>

#include "allm/error.hpp"

namespace allm {

inline std::atomic<std::uint32_t> forks_so_far{0};

// How many forks lie between the process that made the first runtime and this one. Safe to call from any thread.
inline std::uint32_t fork_generation() { return forks_so_far.load(std::memory_order_relaxed); }

// Counts forks from now on. Safe to call from any thread, any number of times.
void count_forks();

// The error of a child process that uses its parent's runtime.
Error forked_error();

}  // namespace allm
