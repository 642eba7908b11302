// A TCP proxy in front of a PostgreSQL server that cuts its connections, each after a random number of bytes: in the
// middle of a request, between a request and its answer, or in the middle of an answer.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace allm::testing {

// Safe to call from any thread.
class CuttingProxy {
 public:
  // Forwards to the Unix socket `server`. Cuts nothing before cut_after() is called.
  CuttingProxy(std::filesystem::path server, std::uint32_t seed);
  ~CuttingProxy();  // cuts all connections
  CuttingProxy(const CuttingProxy&) = delete;
  CuttingProxy& operator=(const CuttingProxy&) = delete;

  // Connections from now on are cut after `least` to `most` bytes of both directions together. 0, 0: they are not cut.
  void cut_after(std::uint32_t least, std::uint32_t most);
  // The number of connections that were cut.
  int cuts() const { return cuts_; }
  // For open_store.
  std::string url(std::string_view database) const;

 private:
  void accept_connections();
  void forward(int client, std::uint64_t budget);
  std::uint64_t next_budget();

  const std::filesystem::path server_;
  int listener_ = -1;
  int stop_ = -1;  // an eventfd that is readable when the proxy ends
  std::uint16_t port_ = 0;
  std::atomic<int> cuts_ = 0;
  std::mutex mutex_;  // of the three below
  std::mt19937 random_;
  std::uint32_t least_ = 0;
  std::uint32_t most_ = 0;
  std::vector<std::jthread> connections_;  // only the accepting thread adds to them
  std::jthread acceptor_;
};

}  // namespace allm::testing
