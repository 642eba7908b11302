// The connections of a store: one for changes, and as many for reading as threads read at the same time.
//
// SQLite allows one change at a time, so threads wait for the connection in a queue of the process instead of polling
// the lock of the file. A connection must not exist during a fork(): the child would believe that it holds locks of its
// parent, also in connections that it opens itself. So fork() waits until no connection is in use and closes them all;
// the next use opens them again.
//
// Safe to call from any thread. A child process must not use a pool of its parent; see is_of_parent_process().
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/fork_guard.hpp"
#include "stores/sqlite/connection.hpp"

namespace allm::sqlite {

class Pool {
 public:
  explicit Pool(FileOptions options);
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool();

  // Calls `body(connection)` in a transaction, which is committed unless the result is an error.
  template <class Body>
  auto write(Body body) -> decltype(body(std::declval<Connection&>()));
  // Calls `body(connection)`. Each statement reads a state of its own.
  template <class Body>
  auto read(Body body) -> decltype(body(std::declval<Connection&>()));

  // A number that differs from the last one if another connection, of any process, has changed the file meanwhile.
  Result<std::int64_t> data_version();

  bool is_of_parent_process() const { return mark_.is_of_parent_process(); }
  const FileOptions& options() const { return options_; }

 private:
  class Borrowed;
  friend class PoolsOfProcess;

  std::unique_ptr<Connection> take_idle(bool writer);
  void give_back(std::unique_ptr<Connection> connection, bool writer);
  void stop_for_fork();
  void continue_after_fork() { mutex_.unlock(); }

  ForkMark mark_;
  FileOptions options_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::size_t in_use_ = 0;
  bool writing_ = false;
  std::unique_ptr<Connection> writer_;
  std::vector<std::unique_ptr<Connection>> readers_;
  // The number of changes is counted by each connection on its own, so it has to be the same one each time.
  std::mutex watch_mutex_;
  std::unique_ptr<Connection> watcher_;
  std::int64_t watchers_opened_ = 0;
};

// A connection for one thread; the destructor gives it back.
class Pool::Borrowed {
 public:
  Borrowed(Pool& pool, bool writer) : pool_(pool), writer_(writer), connection_(pool.take_idle(writer)) {}
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  ~Borrowed() { pool_.give_back(std::move(connection_), writer_); }

  Status open();
  Connection& operator*() { return *connection_; }

 private:
  Pool& pool_;
  bool writer_;
  std::unique_ptr<Connection> connection_;
};

template <class Body>
auto Pool::write(Body body) -> decltype(body(std::declval<Connection&>())) {
  Borrowed borrowed(*this, true);
  if (Status opened = borrowed.open(); !opened) return std::unexpected(opened.error());
  Transaction transaction(*borrowed);
  if (Status begun = transaction.begin(); !begun) return std::unexpected(begun.error());
  auto result = body(*borrowed);
  if (!result) return result;
  if (Status committed = transaction.commit(); !committed) return std::unexpected(committed.error());
  return result;
}

template <class Body>
auto Pool::read(Body body) -> decltype(body(std::declval<Connection&>())) {
  Borrowed borrowed(*this, false);
  if (Status opened = borrowed.open(); !opened) return std::unexpected(opened.error());
  return body(*borrowed);
}

}  // namespace allm::sqlite
