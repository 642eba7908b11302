#include "tests/http2_front.hpp"

#include <arpa/inet.h>
#include <csignal>
#include <fcntl.h>
#include <netinet/in.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "runtime/test_waits.hpp"

extern char** environ;

namespace allm::testing {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

std::uint16_t free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  const bool bound = bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  close(fd);
  if (!bound) throw std::runtime_error("no port for nghttpx");
  return ntohs(address.sin_port);
}

bool accepts(std::uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  const bool connected = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return connected;
}

pid_t spawn(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t process = -1;
  const int error = posix_spawnp(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error("nghttpx is not installed: scripts/setup.sh installs it");
  return process;
}

}  // namespace

Http2Front::Http2Front(const HttpServer& server) : port_(free_port()) {
  process_ = spawn({"nghttpx", "--conf=/dev/null", "--workers=1", "--single-process",
                    "--frontend=127.0.0.1," + std::to_string(port_),
                    "--backend=127.0.0.1," + std::to_string(server.port()), "--no-ocsp",
                    "--frontend-http2-max-concurrent-streams=1000", server.key_file(), server.certificate_file()});
  eventually([this] { return accepts(port_) || waitpid(process_, nullptr, WNOHANG) != 0; }, "nghttpx");
}

Http2Front::~Http2Front() {
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

}  // namespace allm::testing
