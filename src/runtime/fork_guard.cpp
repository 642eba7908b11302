#include "runtime/fork_guard.hpp"

#include <pthread.h>

namespace allm {

void count_forks() {
  [[maybe_unused]] static const int registered =
      pthread_atfork(nullptr, nullptr, [] { forks_so_far.fetch_add(1, std::memory_order_relaxed); });
}

Error forked_error() {
  return Error(EngineError{.reason = EngineError::Reason::invalid_engine},
               "this process was forked after allm's runtime had started, and a child has none of its threads: make a "
               "Runtime in the child and give it to the engine, or run another program with exec");
}

}  // namespace allm
