#include "stores/sqlite/file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "data/read_file.hpp"
#include "stores/sqlite/errors.hpp"

namespace allm::sqlite {
namespace {

Error cannot_create(const std::string& path, int error) {
  if (error == ENOENT || error == ENOTDIR) {
    return unusable_path(path, "the folder does not exist; create it first");
  }
  if (error == EEXIST) return unusable_path(path, "is a symbolic link to a file that does not exist");
  if (error == ENAMETOOLONG || error == EINVAL || error == ELOOP) return unusable_path(path, errno_text(error));
  return file_error(path, {.code = SQLITE_CANTOPEN, .system_errno = error, .detail = "cannot create the file"});
}

// Opens the file only if it does not exist: closing a descriptor of a database would end the locks that other
// connections of this process have on it.
Status create_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd >= 0) {
    close(fd);
    return {};
  }
  const int error = errno;
  struct stat created = {};
  if (error == EEXIST && stat(path.c_str(), &created) == 0) return {};  // another process was quicker
  return std::unexpected(cannot_create(path, error));
}

}  // namespace

Result<std::string> prepare_file(const std::string& path) {
  if (path.empty()) return std::unexpected(unusable_path(path, "the file name is empty; write sqlite:PATH"));
  if (path == ":memory:") return std::unexpected(unusable_path(path, "for a store in memory, open \"memory:\""));
  std::error_code failed;
  std::string absolute = std::filesystem::absolute(path, failed).string();
  if (failed) return std::unexpected(unusable_path(path, failed.message()));
  struct stat found = {};
  if (stat(absolute.c_str(), &found) != 0) {
    if (Status created = create_file(absolute); !created) return std::unexpected(created.error());
    return absolute;
  }
  if (S_ISDIR(found.st_mode)) return std::unexpected(unusable_path(absolute, "is a folder; name a file in it"));
  if (!S_ISREG(found.st_mode)) return std::unexpected(unusable_path(absolute, "is not a regular file"));
  return absolute;
}

}  // namespace allm::sqlite
