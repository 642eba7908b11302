// A loopback port whose accept queue is full: new connections wait until first_bytes() accepts them.
#pragma once

#include <arpa/inet.h>
#include <cstdint>
#include <netinet/in.h>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <vector>

#include "process/fd.hpp"

namespace allm::testing {

class FullListener {
 public:
  FullListener() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener_.get(), 0) != 0 ||
        getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      throw std::runtime_error("no listener");
    }
    port_ = ntohs(address.sin_port);
    // Fills the queue: connects until a connection has to wait.
    constexpr int kMaxClients = 64;
    constexpr int kConnectMs = 50;
    for (int i = 0; i < kMaxClients; ++i) {
      const Fd& client = clients_.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      if (connect(client.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0) continue;
      pollfd connected{.fd = client.get(), .events = POLLOUT, .revents = 0};
      if (poll(&connected, 1, kConnectMs) == 0) return;
    }
    throw std::runtime_error("the listener does not fill");
  }

  // Accepts the waiting connections and returns the first bytes that one of them sends; "" after a timeout.
  std::string first_bytes() {
    constexpr int kWatchdogMs = 10'000;
    std::vector<Fd> accepted;
    while (true) {
      std::vector<pollfd> watched = {{.fd = listener_.get(), .events = POLLIN, .revents = 0}};
      for (const Fd& client : accepted) watched.push_back({.fd = client.get(), .events = POLLIN, .revents = 0});
      if (poll(watched.data(), watched.size(), kWatchdogMs) <= 0) return {};
      for (std::size_t i = 1; i < watched.size(); ++i) {
        if (watched[i].revents == 0) continue;
        std::string bytes(4096, '\0');
        const ssize_t got = recv(watched[i].fd, bytes.data(), bytes.size(), 0);
        bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        return bytes;
      }
      if (watched.front().revents != 0) accepted.emplace_back(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    }
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  const Fd listener_{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::uint16_t port_ = 0;
  std::vector<Fd> clients_;
};

}  // namespace allm::testing
