#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/contest/contest.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): glibc declares it only for GNU sources

namespace allm::contest {

pid_t start_process(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "/proc/self/exe");
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t process = -1;
  if (::posix_spawn(&process, "/proc/self/exe", nullptr, nullptr, argv.data(), environ) != 0) std::abort();
  return process;
}

int wait_for_exit(pid_t process) {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void append_line(const std::string& path, const std::string& line) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  const std::string text = line + "\n";
  if (fd < 0 || ::write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) std::abort();
  ::close(fd);
}

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

int count_lines(const std::string& path, const std::string& line) {
  int count = 0;
  std::ifstream file(path);
  for (std::string found; std::getline(file, found);) count += found == line ? 1 : 0;
  return count;
}

}  // namespace allm::contest
