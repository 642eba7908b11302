#include "data/read_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "data/ascii.hpp"

namespace allm {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

std::expected<std::string, int> read_file(const std::string& path, std::size_t max_bytes) {
  if (path.find('\0') != std::string::npos) return std::unexpected(ENOENT);
  // O_NONBLOCK: opening a pipe must not wait for a writer; only regular files are read.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return std::unexpected(errno);
  if (S_ISDIR(status.st_mode)) return std::unexpected(EISDIR);
  if (!S_ISREG(status.st_mode)) return std::unexpected(EINVAL);
  std::string bytes;
  bytes.reserve(std::min(static_cast<std::size_t>(status.st_size), max_bytes));
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
    if (count == 0) return bytes;
    if (count > 0) {
      if (static_cast<std::size_t>(count) > max_bytes - bytes.size()) return std::unexpected(EFBIG);
      bytes.append(buffer.data(), static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      return std::unexpected(errno);
    }
  }
}

std::string errno_word(int code) {
  const char* name = ::strerrorname_np(code);
  if (name == nullptr) return "unreadable";
  return lower_case(name);
}

std::string errno_text(int code) { return std::generic_category().message(code); }

}  // namespace allm
