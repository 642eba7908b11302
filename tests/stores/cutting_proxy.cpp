#include "tests/stores/cutting_proxy.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <netinet/in.h>
#include <poll.h>
#include <stdexcept>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace allm::testing {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

int connect_to(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  ::close(fd);
  return -1;
}

bool send_all(int fd, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t sent = ::send(fd, bytes, size, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

enum class Forwarded : std::uint8_t { yes, closed, cut };

// Forwards what has arrived, at most `budget` bytes.
Forwarded forward_some(int from, int to, std::uint64_t& budget) {
  std::array<char, 16'384> buffer;
  const ssize_t size = ::recv(from, buffer.data(), buffer.size(), 0);
  if (size <= 0) return Forwarded::closed;
  const std::uint64_t allowed = std::min<std::uint64_t>(static_cast<std::uint64_t>(size), budget);
  if (!send_all(to, buffer.data(), static_cast<std::size_t>(allowed))) return Forwarded::closed;
  if (budget != kUnlimited) budget -= allowed;
  return budget == 0 ? Forwarded::cut : Forwarded::yes;
}

}  // namespace

CuttingProxy::CuttingProxy(std::filesystem::path server, std::uint32_t seed)
    : server_(std::move(server)),
      listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      stop_(::eventfd(0, EFD_CLOEXEC)),
      random_(seed) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), size) != 0 || ::listen(listener_, 128) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("the proxy cannot listen on the loopback interface");
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::jthread([this] { accept_connections(); });
}

CuttingProxy::~CuttingProxy() {
  ::eventfd_write(stop_, 1);
  acceptor_.join();
  connections_.clear();
  ::close(listener_);
  ::close(stop_);
}

void CuttingProxy::cut_after(std::uint32_t least, std::uint32_t most) {
  const std::lock_guard lock(mutex_);
  least_ = least;
  most_ = most;
}

std::string CuttingProxy::url(std::string_view database) const {
  return "postgresql://allm@127.0.0.1:" + std::to_string(port_) + "/" + std::string(database) + "?sslmode=disable";
}

std::uint64_t CuttingProxy::next_budget() {
  const std::lock_guard lock(mutex_);
  return most_ == 0 ? kUnlimited : std::uniform_int_distribution<std::uint64_t>(least_, most_)(random_);
}

void CuttingProxy::accept_connections() {
  while (true) {
    std::array<pollfd, 2> sources = {pollfd{.fd = stop_, .events = POLLIN, .revents = 0},
                                     pollfd{.fd = listener_, .events = POLLIN, .revents = 0}};
    ::poll(sources.data(), sources.size(), -1);
    if (sources[0].revents != 0) return;
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    connections_.emplace_back([this, client, budget = next_budget()] { forward(client, budget); });
  }
}

void CuttingProxy::forward(int client, std::uint64_t budget) {
  const int server = connect_to(server_);
  Forwarded state = server < 0 ? Forwarded::closed : Forwarded::yes;
  while (state == Forwarded::yes) {
    std::array<pollfd, 3> sources = {pollfd{.fd = stop_, .events = POLLIN, .revents = 0},
                                     pollfd{.fd = client, .events = POLLIN, .revents = 0},
                                     pollfd{.fd = server, .events = POLLIN, .revents = 0}};
    ::poll(sources.data(), sources.size(), -1);
    if (sources[0].revents != 0) break;
    if (sources[1].revents != 0) state = forward_some(client, server, budget);
    if (state == Forwarded::yes && sources[2].revents != 0) state = forward_some(server, client, budget);
  }
  if (state == Forwarded::cut) ++cuts_;
  ::close(client);
  if (server >= 0) ::close(server);
}

}  // namespace allm::testing
