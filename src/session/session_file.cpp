#include "allm/session_file.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "allm/serialize.hpp"

#include "data/read_file.hpp"
#include "process/fd.hpp"

namespace allm {
namespace {

Error file_error(const char* verb, const std::string& path, int code) {
  return validation_error(ValidationError::Reason::invalid_session, {std::string("path")}, errno_word(code),
                          fmt::format("cannot {} the session file '{}': {}", verb, path, errno_text(code)));
}

Error in_file(const char* verb, const std::string& path, const Error& error) {
  const auto* detail = error.get_if<ValidationError>();
  return {detail != nullptr ? *detail : ValidationError{.reason = ValidationError::Reason::invalid_session},
          fmt::format("cannot {} the session file '{}': {}", verb, path, error.message()), error.metadata()};
}

// The file that a symbolic link points to, so that the link itself is not replaced.
std::string target_of(const std::string& path) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::canonical(path, error);
  return error ? path : target.string();
}

// 0 or an errno.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

int write_and_flush(int fd, const std::string& text, const std::string& target) {
  if (const int code = write_all(fd, text); code != 0) return code;
  struct stat old{};
  constexpr mode_t kPermissions = 07777;
  if (::stat(target.c_str(), &old) == 0 && ::fchmod(fd, old.st_mode & kPermissions) != 0) return errno;
  return ::fsync(fd) == 0 ? 0 : errno;
}

// Flushes the folder, so that the rename survives a power failure.
int flush_folder(const std::string& target) {
  std::string folder = std::filesystem::path(target).parent_path().string();
  if (folder.empty()) folder = ".";
  const Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return errno;
  return ::fsync(fd.get()) == 0 ? 0 : errno;
}

int replace_file(const std::string& target, const std::string& text) {
  if (target.empty() || target.find('\0') != std::string::npos) return ENOENT;
  std::string temporary = target + ".XXXXXX";
  const Fd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd) return errno;
  int code = write_and_flush(fd.get(), text, target);
  if (code == 0 && ::rename(temporary.c_str(), target.c_str()) != 0) code = errno;
  if (code != 0) {
    ::unlink(temporary.c_str());
    return code;
  }
  return flush_folder(target);
}

}  // namespace

Status save_session(const std::string& path, const Session& session) {
  const Result<std::string> text = to_json(session);
  if (!text) return std::unexpected(in_file("write", path, text.error()));
  if (const int code = replace_file(target_of(path), *text + "\n"); code != 0) {
    return std::unexpected(file_error("write", path, code));
  }
  return {};
}

Result<Session> load_session(const std::string& path, const ReadLimits& limits) {
  const std::expected<std::string, int> text = read_file(path, limits.max_bytes);
  if (!text) return std::unexpected(file_error("read", path, text.error()));
  Result<Session> session = from_json<Session>(*text, limits);
  if (!session) return std::unexpected(in_file("read", path, session.error()));
  return session;
}

}  // namespace allm
