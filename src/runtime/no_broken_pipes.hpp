// Writing to a TLS connection whose other end is gone raises SIGPIPE, and the program's threads are not the loop's own,
// which blocks all signals.
#pragma once

#include <csignal>
#include <ctime>
#include <pthread.h>

namespace allm {

// Keeps SIGPIPE from the calling thread while it lives.
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
    // Where it was blocked before, one that is pending may be the program's own.
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
