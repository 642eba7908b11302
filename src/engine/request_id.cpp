#include "engine/request_id.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string_view>
#include <sys/random.h>

#include "data/base64.hpp"
#include "runtime/fork_guard.hpp"

namespace allm {
namespace {

constexpr std::size_t kIdBytes = 16;

// Random bytes of the system, fetched for several ids at a time, because the system call is expensive.
class RandomBytes {
 public:
  RandomBytes() { count_forks(); }
  // The next `count` bytes, at most kIdBytes.
  std::string_view take(std::size_t count) {
    // A forked child must not repeat the ids of its parent.
    const std::uint32_t generation = fork_generation();
    if (bytes_.size() - used_ < count || generation != generation_) {
      refill();
      generation_ = generation;
      used_ = 0;
    }
    const std::string_view taken(bytes_.data() + used_, count);
    used_ += count;
    return taken;
  }

 private:
  void refill() {
    std::size_t filled = 0;
    while (filled < bytes_.size()) {
      const ssize_t got = getrandom(bytes_.data() + filled, bytes_.size() - filled, 0);
      if (got > 0) {
        filled += static_cast<std::size_t>(got);
      } else if (errno != EINTR) {
        std::random_device device;
        for (char& byte : bytes_) byte = static_cast<char>(device());
        return;
      }
    }
  }

  std::array<char, 16 * kIdBytes> bytes_{};
  std::size_t used_ = bytes_.size();
  std::uint32_t generation_ = 0;
};

std::string_view random_bytes(std::size_t count) {
  thread_local RandomBytes random;
  return random.take(count);
}

template <class Id>
Id random_id() {
  Id id;
  while (!id.is_set()) std::memcpy(id.bytes.data(), random_bytes(id.bytes.size()).data(), id.bytes.size());
  return id;
}

}  // namespace

std::string make_request_id() {
  for (;;) {
    std::string id = base64url_encode(random_bytes(kIdBytes));
    if (id.front() != '-') return id;
  }
}

TraceId make_trace_id() { return random_id<TraceId>(); }
SpanId make_span_id() { return random_id<SpanId>(); }

}  // namespace allm
