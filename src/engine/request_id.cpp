#include "engine/request_id.hpp"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <random>
#include <string_view>

#include "data/base64.hpp"

namespace allm {

std::string make_request_id() {
  std::array<char, 16> bytes{};
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = getrandom(bytes.data() + filled, bytes.size() - filled, 0);
    if (got > 0) {
      filled += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      std::random_device device;
      for (char& byte : bytes) byte = static_cast<char>(device());
      break;
    }
  }
  return base64url_encode(std::string_view(bytes.data(), bytes.size()));
}

}  // namespace allm
