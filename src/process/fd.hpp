// A file descriptor that is closed with its owner.
#pragma once

#include <array>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "runtime/fork_guard.hpp"

namespace allm {

// One thread at a time.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Fd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

// A descriptor that only this process uses: in children that fork() makes, its number refers to /dev/null. One thread
// at a time.
class HiddenFd {
 public:
  HiddenFd() = default;
  // The caller holds a NoForkNow, since before it opened `fd`.
  explicit HiddenFd(int fd) : fd_(fd) {
    if (fd_ >= 0) hide_from_children(fd_);
  }
  HiddenFd(HiddenFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  HiddenFd& operator=(HiddenFd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~HiddenFd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset() {
    if (fd_ >= 0) close_hidden(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

// The two ends of a socket and of a pipe. False with errno set. The parameters are empty before the call.
inline bool make_socket_pair(HiddenFd& ours, HiddenFd& theirs) {
  std::array<int, 2> ends{};
  const NoForkNow guard;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return false;
  ours = HiddenFd(ends[0]);
  theirs = HiddenFd(ends[1]);
  return true;
}
inline bool make_pipe(HiddenFd& reads, HiddenFd& writes) {
  std::array<int, 2> ends{};
  const NoForkNow guard;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  reads = HiddenFd(ends[0]);
  writes = HiddenFd(ends[1]);
  return true;
}

}  // namespace allm
