// Frames: texts on a stream socket, each after its length (four bytes, little-endian).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "process/fd.hpp"

namespace allm {

inline constexpr std::size_t kFrameHeaderBytes = 4;

// A text as it goes over the wire. At most 4 GiB.
std::string make_frame(std::string_view text);
// The frame of `begin` followed by `rest`.
std::string make_frame(std::string_view begin, std::string_view rest);
std::uint32_t frame_length(const char* header);

// Finds frames in bytes, however they are split, in time linear in their number. One thread at a time.
class FrameReader {
 public:
  void feed(std::string_view bytes) { buffer_.append(bytes); }
  // The next whole frame; nullopt if it has not arrived yet or is longer than `limit`.
  std::optional<std::string> next(std::size_t limit);
  // Whether the next frame is longer than that. It is known when its header has arrived, so a reader that then closes
  // the line never holds more than the limit and what it received at once.
  bool exceeds(std::size_t limit) const;

 private:
  void release_read_bytes();

  std::string buffer_;
  std::size_t begin_ = 0;
};

// Sends a part of `bytes`, with descriptors if there are any; `flags` are those of send(). Returns the number of bytes,
// or -1 with errno set.
ssize_t send_some(int socket, std::string_view bytes, const std::vector<int>& fds, int flags);

// Sends all of `bytes`, with descriptors if there are any. Blocks. False if the other end is closed.
bool send_all(int socket, std::string_view bytes, const std::vector<int>& fds = {});

// Receives the bytes and descriptors that have arrived. Returns 0 at the end of the stream, -1 with errno on an error.
ssize_t receive_some(int socket, char* buffer, std::size_t size, std::vector<Fd>& fds);

}  // namespace allm
