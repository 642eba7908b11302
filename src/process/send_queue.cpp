#include "process/send_queue.hpp"

#include <cerrno>
#include <fcntl.h>
#include <string_view>
#include <sys/socket.h>
#include <utility>

#include "process/frames.hpp"

namespace allm {
namespace {

// The number of bytes that the socket accepted, 0 if it is full, -1 with errno set if it is broken.
ssize_t send_now(int socket, std::string_view bytes, const std::vector<int>& fds) {
  const ssize_t sent = send_some(socket, bytes, fds, MSG_DONTWAIT);
  return sent < 0 && errno == EAGAIN ? 0 : sent;
}

}  // namespace

bool SendQueue::send(int socket, std::string bytes, const std::vector<int>& fds) {
  ssize_t sent = 0;
  if (pieces_.empty()) sent = send_now(socket, bytes, fds);
  if (sent < 0) return false;
  if (static_cast<std::size_t>(sent) == bytes.size()) return true;
  Piece piece{.bytes = std::move(bytes), .fds = {}, .sent = static_cast<std::size_t>(sent)};
  for (const int fd : sent > 0 ? std::vector<int>() : fds) {
    piece.fds.emplace_back(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!piece.fds.back()) return false;
  }
  bytes_ += piece.bytes.size() - piece.sent;
  pieces_.push_back(std::move(piece));
  return true;
}

bool SendQueue::flush(int socket) {
  while (!pieces_.empty()) {
    Piece& piece = pieces_.front();
    std::vector<int> fds;
    fds.reserve(piece.fds.size());
    for (const Fd& fd : piece.fds) fds.push_back(fd.get());
    const ssize_t sent = send_now(socket, std::string_view(piece.bytes).substr(piece.sent), fds);
    if (sent < 0) return false;
    if (sent == 0) return true;
    piece.fds.clear();
    piece.sent += static_cast<std::size_t>(sent);
    bytes_ -= static_cast<std::size_t>(sent);
    if (piece.sent == piece.bytes.size()) pieces_.pop_front();
  }
  return true;
}

}  // namespace allm
