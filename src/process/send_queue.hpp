// Frames on their way to a stream socket, without blocking: what the socket does not accept now is sent later.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "process/fd.hpp"

namespace allm {

// One thread at a time. Each byte is moved once, however long the queue is.
class SendQueue {
 public:
  // Sends what the socket accepts and keeps the rest, with copies of descriptors that have not been sent. False with
  // errno set if the other end is closed; nothing is kept then.
  bool send(int socket, std::string bytes, const std::vector<int>& fds = {});
  // Sends what the socket accepts of what was kept. False with errno set if the other end is closed.
  bool flush(int socket);
  bool empty() const { return pieces_.empty(); }
  std::size_t size() const { return bytes_; }

 private:
  struct Piece {
    std::string bytes;
    std::vector<Fd> fds;
    std::size_t sent = 0;
  };
  std::deque<Piece> pieces_;
  std::size_t bytes_ = 0;  // that have not been sent
};

}  // namespace allm
