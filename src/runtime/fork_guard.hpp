// Detects that this process is a fork of the one that started the runtime, and keeps the descriptors of the runtime
// from such a process: it has none of its parent's threads, so nothing would ever wake a thread that waits in it, and
// what it reads from a socket that it shares with its parent would be missing there.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "allm/error.hpp"

namespace allm {

// The generation of this process, 0 in a child that has not asked for its own yet. The kernel sets the word to 0 in
// every child process, however it was forked (MADV_WIPEONFORK, Linux 4.14); before count_forks() and on older kernels,
// a handler of pthread_atfork does, which children of a bare clone() do not run.
inline constinit std::atomic<std::uint32_t> first_fork_word{1};
inline constinit std::atomic<std::atomic<std::uint32_t>*> fork_word{&first_fork_word};
std::uint32_t new_fork_generation();

// How many forks lie between the process that made the first runtime and this one, plus 1. Safe to call from any
// thread.
inline std::uint32_t fork_generation() {
  const std::uint32_t generation = fork_word.load(std::memory_order_acquire)->load(std::memory_order_relaxed);
  return generation != 0 ? generation : new_fork_generation();
}

// Counts forks from now on. Safe to call from any thread, any number of times.
void count_forks();

// Tells an object whether it was copied by a fork. Safe to call from any thread.
class ForkMark {
 public:
  // Whether this process is a fork of the one that made the object.
  bool is_of_parent_process() const { return generation_ != fork_generation(); }

 private:
  std::uint32_t generation_ = fork_generation();
};

// The error of a child process that uses its parent's runtime.
Error forked_error();

// While one exists, other threads that call fork() wait. For the time between opening a descriptor and hiding it.
class NoForkNow {
 public:
  NoForkNow();

 private:
  std::unique_lock<std::mutex> lock_;
};

// From now on the number refers to /dev/null in children that fork() makes. The caller holds a NoForkNow, since before
// it opened the descriptor.
void hide_from_children(int fd);
// Closes a descriptor that is hidden.
void close_hidden(int fd);

}  // namespace allm
