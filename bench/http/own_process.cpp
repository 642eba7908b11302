#include "bench/http/own_process.hpp"

#include <array>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/http/workloads.hpp"

namespace allm::bench {
namespace {

void send(int pipe, const std::vector<double>& numbers) {
  const char* bytes = reinterpret_cast<const char*>(numbers.data());
  std::size_t left = numbers.size() * sizeof(double);
  while (left > 0) {
    const ssize_t written = write(pipe, bytes, left);
    if (written <= 0) _exit(1);
    bytes += written;
    left -= static_cast<std::size_t>(written);
  }
}

std::vector<double> receive(int pipe) {
  std::vector<double> numbers;
  std::size_t bytes = 0;
  while (true) {
    numbers.resize(bytes / sizeof(double) + 1'000);
    const ssize_t count =
        read(pipe, reinterpret_cast<char*>(numbers.data()) + bytes, numbers.size() * sizeof(double) - bytes);
    if (count <= 0) break;
    bytes += static_cast<std::size_t>(count);
  }
  numbers.resize(bytes / sizeof(double));
  return numbers;
}

}  // namespace

std::vector<double> in_own_process(const std::function<std::vector<double>()>& work) {
  std::array<int, 2> pipe{};
  if (pipe2(pipe.data(), O_CLOEXEC) != 0) give_up("no pipe");
  const pid_t process = fork();
  if (process == 0) {
    close(pipe[0]);
    send(pipe[1], work());
    // _exit: the destructors of objects that the parent made must not run here.
    _exit(0);
  }
  close(pipe[1]);
  std::vector<double> numbers = receive(pipe[0]);
  close(pipe[0]);
  int status = 0;
  if (process < 0 || waitpid(process, &status, 0) != process || status != 0) give_up("a measurement failed");
  return numbers;
}

}  // namespace allm::bench
