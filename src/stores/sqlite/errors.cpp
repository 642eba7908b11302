#include "stores/sqlite/errors.hpp"

#include <cerrno>

#include <fmt/format.h>
#include <sqlite3.h>

#include "data/read_file.hpp"

namespace allm::sqlite {
namespace {

using Reason = StoreError::Reason;

bool means_full(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }
bool means_read_only(int error) { return error == EACCES || error == EPERM || error == EROFS; }

Reason reason_of(const Failure& failure) {
  switch (failure.code & 0xFF) {
    case SQLITE_FULL:
      return Reason::full;
    case SQLITE_READONLY:
      return Reason::read_only;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Reason::corrupted;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
      if (means_full(failure.system_errno)) return Reason::full;
      return means_read_only(failure.system_errno) ? Reason::read_only : Reason::unavailable;
    default:
      return Reason::unavailable;
  }
}

std::string advice_for(const Failure& failure, Reason reason) {
  switch (reason) {
    case Reason::full:
      return "nothing was changed; free space on its disk and try again";
    case Reason::read_only:
      return "the file and its folder must be writable for this user";
    case Reason::corrupted:
      return (failure.code & 0xFF) == SQLITE_NOTADB ? "it is not an SQLite database, or its first page is damaged; "
                                                      "check the file name, or restore a backup"
                                                    : "the file is damaged; make a copy of it, then restore a backup "
                                                      "or run the command .recover of sqlite3";
    default:
      break;
  }
  if ((failure.code & 0xFF) == SQLITE_BUSY) {
    return "another process keeps it locked; try again later, or end the program that does not finish its transaction";
  }
  return "try again later; if the error stays, check the disk and the file";
}

}  // namespace

Error file_error(const std::string& path, const Failure& failure) {
  const Reason reason = reason_of(failure);
  std::string what = failure.detail;
  if (failure.system_errno != 0) what += ", " + errno_text(failure.system_errno);
  return Error(StoreError{.reason = reason},
               fmt::format("session store {}: {}: {}", path, what, advice_for(failure, reason)),
               Json{{"path", path}, {"sqlite_code", failure.code}});
}

Error unusable_path(const std::string& path, const std::string& why) {
  return Error(StoreError{.reason = Reason::invalid_url}, fmt::format("session store {}: {}", path, why),
               Json{{"path", path}});
}

Error corrupted_session(const std::string& path, const std::string& id, const std::string& why) {
  return Error(StoreError{.reason = Reason::corrupted, .session_id = id},
               fmt::format("session store {}: session {} cannot be read: {}; the other sessions are not affected. "
                           "Remove it, or import it again from an export",
                           path, id, why),
               Json{{"path", path}});
}

}  // namespace allm::sqlite
