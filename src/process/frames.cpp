#include "process/frames.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>

namespace allm {
namespace {

// More than any message carries.
constexpr std::size_t kMaxFds = 8;
// A reader keeps a buffer of at most that size when it is empty.
constexpr std::size_t kMaxEmptyBuffer = std::size_t{1} << 20U;

}  // namespace

std::string make_frame(std::string_view text) { return make_frame({}, text); }

std::string make_frame(std::string_view begin, std::string_view rest) {
  std::string frame;
  frame.reserve(kFrameHeaderBytes + begin.size() + rest.size());
  const auto length = static_cast<std::uint32_t>(begin.size() + rest.size());
  for (unsigned shift = 0; shift < 32; shift += 8) frame.push_back(static_cast<char>((length >> shift) & 0xffU));
  frame.append(begin).append(rest);
  return frame;
}

std::uint32_t frame_length(const char* header) {
  std::uint32_t length = 0;
  for (unsigned i = 0; i < kFrameHeaderBytes; ++i) {
    length |= static_cast<std::uint32_t>(static_cast<unsigned char>(header[i])) << (8 * i);
  }
  return length;
}

std::optional<std::string> FrameReader::next(std::size_t limit) {
  const std::string_view rest = std::string_view(buffer_).substr(begin_);
  if (rest.size() < kFrameHeaderBytes) return std::nullopt;
  const std::size_t length = frame_length(rest.data());
  if (length > limit || rest.size() - kFrameHeaderBytes < length) return std::nullopt;
  std::string frame(rest.substr(kFrameHeaderBytes, length));
  begin_ += kFrameHeaderBytes + length;
  release_read_bytes();
  return frame;
}

void FrameReader::release_read_bytes() {
  // More than half of the buffer: a byte is moved only for one that was read, so the sum of the moves is linear.
  if (begin_ <= buffer_.size() / 2) return;
  buffer_.erase(0, begin_);
  begin_ = 0;
  if (buffer_.empty() && buffer_.capacity() > kMaxEmptyBuffer) buffer_.shrink_to_fit();
}

bool FrameReader::exceeds(std::size_t limit) const {
  const std::string_view rest = std::string_view(buffer_).substr(begin_);
  return rest.size() >= kFrameHeaderBytes && frame_length(rest.data()) > limit;
}

ssize_t send_some(int socket, std::string_view bytes, const std::vector<int>& fds, int flags) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxFds * sizeof(int))> control{};
  iovec data{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
  }
  ssize_t sent = 0;
  do {
    sent = sendmsg(socket, &message, MSG_NOSIGNAL | flags);
  } while (sent < 0 && errno == EINTR);
  return sent;
}

bool send_all(int socket, std::string_view bytes, const std::vector<int>& fds) {
  for (bool is_first = true; !bytes.empty(); is_first = false) {
    const ssize_t sent = send_some(socket, bytes, is_first ? fds : std::vector<int>(), 0);
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

ssize_t receive_some(int socket, char* buffer, std::size_t size, std::vector<Fd>& fds) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxFds * sizeof(int))> control{};
  iovec data{buffer, size};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got = 0;
  do {
    got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); got >= 0 && header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
      fds.emplace_back(fd);
    }
  }
  return got;
}

}  // namespace allm
