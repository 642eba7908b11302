// Detects that this process is a fork of the one that started the runtime: a child has none of its parent's threads, so
// nothing in it would ever be woken.
#pragma once

#include <atomic>
#include <cstdint>

#include "allm/error.hpp"

namespace allm {

inline std::atomic<std::uint32_t> forks_so_far{0};

// How often this process was forked from another since the first runtime was made. Safe from any thread.
inline std::uint32_t fork_generation() { return forks_so_far.load(std::memory_order_relaxed); }

// Counts forks from now on. Safe from any thread, any number of times.
void count_forks();

// What a child gets where it uses its parent's runtime.
Error forked_error();

}  // namespace allm
