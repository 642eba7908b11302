// A file system of SQLite on a PowerLossDisk. Locks and shared memory are those of the real file system, on real files
// of the same names that have no content.
#pragma once

#include <cstring>
#include <new>
#include <string>
#include <unistd.h>
#include <utility>

#include <sqlite3.h>

#include "stores/sqlite/power_loss_disk.hpp"

namespace allm::testing {

class PowerLossVfs {
 public:
  static constexpr const char* kName = "allm-power-loss";

  explicit PowerLossVfs(PowerLossDisk& disk) : disk_(disk), real_(sqlite3_vfs_find(nullptr)), vfs_(*real_) {
    vfs_.szOsFile = static_cast<int>(sizeof(File)) + real_->szOsFile;
    vfs_.zName = kName;
    vfs_.pAppData = this;
    vfs_.pNext = nullptr;
    vfs_.xOpen = &PowerLossVfs::open;
    vfs_.xDelete = &PowerLossVfs::remove;
    vfs_.xAccess = &PowerLossVfs::access;
    sqlite3_vfs_register(&vfs_, 0);
  }
  PowerLossVfs(const PowerLossVfs&) = delete;
  PowerLossVfs& operator=(const PowerLossVfs&) = delete;
  ~PowerLossVfs() { sqlite3_vfs_unregister(&vfs_); }

 private:
  // SQLite allocates it; the file of the real file system follows it.
  struct File {
    sqlite3_file base;
    PowerLossVfs* vfs;
    DiskFile* content;  // null: a temporary file, which is a real one
    bool syncs_folder;  // with its first sync, as SQLite does on Unix for new logs and journals
    sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
  };
  static File& self(sqlite3_file* file) { return *reinterpret_cast<File*>(file); }
  static PowerLossVfs& self(sqlite3_vfs* vfs) { return *static_cast<PowerLossVfs*>(vfs->pAppData); }
  bool dead() const { return disk_.is_dead(); }

  static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* opened, int flags, int* out_flags) {
    PowerLossVfs& me = self(vfs);
    if (me.dead()) return SQLITE_IOERR;
    File& file =
        *::new (opened) File{.base = {.pMethods = nullptr}, .vfs = &me, .content = nullptr, .syncs_folder = false};
    const int code = me.real_->xOpen(me.real_, name, file.real(), flags, out_flags);
    if (code != SQLITE_OK) return code;
    constexpr int kLasting = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL;
    if (name != nullptr && (flags & kLasting) != 0) file.content = &me.disk_.open(name);
    constexpr int kJournals = SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL;
    file.syncs_folder = (flags & kJournals) != 0 && (flags & SQLITE_OPEN_CREATE) != 0;
    file.base.pMethods = methods();
    return SQLITE_OK;
  }

  static int remove(sqlite3_vfs* vfs, const char* name, int sync_folder) {
    PowerLossVfs& me = self(vfs);
    if (me.dead()) return SQLITE_IOERR;
    me.disk_.remove(name, sync_folder != 0);
    unlink(name);
    return SQLITE_OK;
  }

  static int access(sqlite3_vfs* vfs, const char* name, int /*flags*/, int* result) {
    PowerLossVfs& me = self(vfs);
    if (me.dead()) return SQLITE_IOERR;
    *result = me.disk_.exists(name) ? 1 : 0;
    return SQLITE_OK;
  }

  static int read(sqlite3_file* file, void* target, int amount, sqlite3_int64 offset) {
    File& me = self(file);
    if (me.content == nullptr) return me.real()->pMethods->xRead(me.real(), target, amount, offset);
    if (me.vfs->dead()) return SQLITE_IOERR_READ;
    const std::string& bytes = me.content->bytes();
    const auto begin = std::min(static_cast<std::size_t>(offset), bytes.size());
    const auto wanted = static_cast<std::size_t>(amount);
    const auto size = std::min(wanted, bytes.size() - begin);
    std::memcpy(target, bytes.data() + begin, size);
    if (size == wanted) return SQLITE_OK;
    std::memset(static_cast<char*>(target) + size, 0, wanted - size);
    return SQLITE_IOERR_SHORT_READ;
  }

  static int write(sqlite3_file* file, const void* source, int amount, sqlite3_int64 offset) {
    File& me = self(file);
    if (me.content == nullptr) return me.real()->pMethods->xWrite(me.real(), source, amount, offset);
    if (me.vfs->dead()) return SQLITE_IOERR_WRITE;
    me.content->write(static_cast<std::size_t>(offset),
                      {static_cast<const char*>(source), static_cast<std::size_t>(amount)});
    return SQLITE_OK;
  }

  static int truncate(sqlite3_file* file, sqlite3_int64 size) {
    File& me = self(file);
    if (me.content == nullptr) return me.real()->pMethods->xTruncate(me.real(), size);
    if (me.vfs->dead()) return SQLITE_IOERR_TRUNCATE;
    me.content->truncate(static_cast<std::size_t>(size));
    return SQLITE_OK;
  }

  static int sync(sqlite3_file* file, int flags) {
    File& me = self(file);
    if (me.content == nullptr) return me.real()->pMethods->xSync(me.real(), flags);
    if (!me.vfs->disk_.sync(*me.content)) return SQLITE_IOERR_FSYNC;
    if (std::exchange(me.syncs_folder, false)) me.vfs->disk_.sync_folder();
    return SQLITE_OK;
  }

  static int size(sqlite3_file* file, sqlite3_int64* size) {
    File& me = self(file);
    if (me.content == nullptr) return me.real()->pMethods->xFileSize(me.real(), size);
    *size = static_cast<sqlite3_int64>(me.content->bytes().size());
    return me.vfs->dead() ? SQLITE_IOERR_FSTAT : SQLITE_OK;
  }

  // SQLite may set the size of the real file through these hints, so they stop here.
  static int control(sqlite3_file* file, int operation, void* argument) {
    if (operation == SQLITE_FCNTL_SIZE_HINT || operation == SQLITE_FCNTL_CHUNK_SIZE) return SQLITE_OK;
    return self(file).real()->pMethods->xFileControl(self(file).real(), operation, argument);
  }

  template <auto Method, class... Arguments>
  static auto real(sqlite3_file* file, Arguments... arguments) {
    sqlite3_file* const target = self(file).real();
    return (target->pMethods->*Method)(target, arguments...);
  }

  static const sqlite3_io_methods* methods() {
    using Io = sqlite3_io_methods;
    static const Io all = {
        .iVersion = 2,
        .xClose = &PowerLossVfs::real<&Io::xClose>,
        .xRead = &read,
        .xWrite = &write,
        .xTruncate = &truncate,
        .xSync = &sync,
        .xFileSize = &size,
        .xLock = &PowerLossVfs::real<&Io::xLock, int>,
        .xUnlock = &PowerLossVfs::real<&Io::xUnlock, int>,
        .xCheckReservedLock = &PowerLossVfs::real<&Io::xCheckReservedLock, int*>,
        .xFileControl = &control,
        .xSectorSize = &PowerLossVfs::real<&Io::xSectorSize>,
        .xDeviceCharacteristics = &PowerLossVfs::real<&Io::xDeviceCharacteristics>,
        .xShmMap = &PowerLossVfs::real<&Io::xShmMap, int, int, int, void volatile**>,
        .xShmLock = &PowerLossVfs::real<&Io::xShmLock, int, int, int>,
        .xShmBarrier = &PowerLossVfs::real<&Io::xShmBarrier>,
        .xShmUnmap = &PowerLossVfs::real<&Io::xShmUnmap, int>,
        .xFetch = nullptr,
        .xUnfetch = nullptr,
    };
    return &all;
  }

  PowerLossDisk& disk_;
  sqlite3_vfs* real_;
  sqlite3_vfs vfs_;
};

}  // namespace allm::testing
