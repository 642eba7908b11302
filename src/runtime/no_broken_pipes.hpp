// Blocks SIGPIPE, which a write to a TLS connection raises if the other end is closed. Needed on the program's threads
// while they drive the loop; the loop thread blocks all signals.
#pragma once

#include <csignal>
#include <ctime>
#include <pthread.h>

namespace allm {

// Blocks SIGPIPE on the calling thread from construction to destruction.
class NoBrokenPipes {
 public:
  NoBrokenPipes() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before);
    was_blocked_ = sigismember(&before, SIGPIPE) == 1;
  }
  NoBrokenPipes(const NoBrokenPipes&) = delete;
  NoBrokenPipes& operator=(const NoBrokenPipes&) = delete;
  ~NoBrokenPipes() {
    // If SIGPIPE was blocked before, a pending one may be the program's own.
    if (was_blocked_) return;
    sigset_t pending;
    sigpending(&pending);
    constexpr timespec kNow{};
    if (sigismember(&pending, SIGPIPE) == 1) sigtimedwait(&pipe_, nullptr, &kNow);
    pthread_sigmask(SIG_UNBLOCK, &pipe_, nullptr);
  }

 private:
  sigset_t pipe_;
  bool was_blocked_ = false;
};

}  // namespace allm
