#include "runtime/fork_guard.hpp"

#include <fcntl.h>
#include <new>
#include <pthread.h>
#include <set>
#include <sys/mman.h>
#include <unistd.h>

namespace allm {
namespace {

std::atomic<std::uint32_t> last_generation{1};

struct HiddenFds {
  std::mutex mutex;
  std::set<int> fds;
};

// Never destroyed: runtimes may be in use until the very end of the process.
HiddenFds& hidden() {
  static auto* const all = new HiddenFds();
  return *all;
}

void before_fork() { hidden().mutex.lock(); }
void after_fork_in_parent() { hidden().mutex.unlock(); }

// Calls only functions that are safe in the child of a process with threads.
void after_fork_in_child() {
  fork_word.load()->store(0);
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : hidden().fds) {
    if (nothing < 0 || dup3(nothing, fd, O_CLOEXEC) < 0) close(fd);
  }
  if (nothing >= 0) close(nothing);
  hidden().mutex.unlock();
}

// A word that the kernel sets to 0 in children; null if the kernel cannot.
std::atomic<std::uint32_t>* wiped_word() {
  const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const page = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  if (madvise(page, size, MADV_WIPEONFORK) != 0) {
    munmap(page, size);
    return nullptr;
  }
  return ::new (page) std::atomic<std::uint32_t>(fork_generation());
}

}  // namespace

std::uint32_t new_fork_generation() {
  std::atomic<std::uint32_t>& word = *fork_word.load(std::memory_order_acquire);
  // Threads that come here at the same time compute the same number, or find the number of another one.
  std::uint32_t generation = last_generation.load() + 1;
  std::uint32_t found = 0;
  if (!word.compare_exchange_strong(found, generation)) return found;
  last_generation.store(generation);
  return generation;
}

void count_forks() {
  [[maybe_unused]] static const bool counting = [] {
    hidden();
    if (std::atomic<std::uint32_t>* const word = wiped_word()) fork_word.store(word, std::memory_order_release);
    return pthread_atfork(&before_fork, &after_fork_in_parent, &after_fork_in_child) == 0;
  }();
}

Error forked_error() {
  return Error(EngineError{.reason = EngineError::Reason::invalid_engine},
               "this process was forked after allm's runtime had started, and a child has none of its threads: make a "
               "Runtime in the child and give it to the engine, or run another program with exec");
}

NoForkNow::NoForkNow() : lock_(hidden().mutex) {}

void hide_from_children(int fd) { hidden().fds.insert(fd); }

void close_hidden(int fd) {
  const NoForkNow lock;
  hidden().fds.erase(fd);
  close(fd);
}

}  // namespace allm
