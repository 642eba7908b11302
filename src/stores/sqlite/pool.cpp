#include "stores/sqlite/pool.hpp"

#include <pthread.h>
#include <set>
#include <utility>

namespace allm::sqlite {
namespace {

// More readers at the same time are closed after use.
constexpr std::size_t kMaxIdleReaders = 4;

}  // namespace

// All pools of this process, for fork().
class PoolsOfProcess {
 public:
  static void add(Pool* pool) {
    count_forks();
    const std::lock_guard lock(all().mutex_);
    all().pools_.insert(pool);
    [[maybe_unused]] static const int registered = pthread_atfork(&before_fork, &after_fork, &after_fork);
  }
  static void remove(Pool* pool) {
    const std::lock_guard lock(all().mutex_);
    all().pools_.erase(pool);
  }

 private:
  // Never destroyed: stores may be in use until the very end of the process.
  static PoolsOfProcess& all() {
    static auto* const pools = new PoolsOfProcess();
    return *pools;
  }
  static void before_fork() {
    all().mutex_.lock();
    for (Pool* const pool : all().pools_) pool->stop_for_fork();
  }
  static void after_fork() {
    for (Pool* const pool : all().pools_) pool->continue_after_fork();
    all().mutex_.unlock();
  }

  std::mutex mutex_;
  std::set<Pool*> pools_;
};

Pool::Pool(FileOptions options) : options_(std::move(options)) { PoolsOfProcess::add(this); }

Pool::~Pool() { PoolsOfProcess::remove(this); }

std::unique_ptr<Connection> Pool::take_idle(bool writer) {
  std::unique_lock lock(mutex_);
  if (writer) {
    returned_.wait(lock, [this] { return !writing_; });
    writing_ = true;
  }
  ++in_use_;
  if (writer) return std::move(writer_);
  if (readers_.empty()) return nullptr;
  std::unique_ptr<Connection> reader = std::move(readers_.back());
  readers_.pop_back();
  return reader;
}

void Pool::give_back(std::unique_ptr<Connection> connection, bool writer) {
  const std::lock_guard lock(mutex_);
  --in_use_;
  if (writer) {
    writing_ = false;
    writer_ = std::move(connection);
  } else if (connection != nullptr && readers_.size() < kMaxIdleReaders) {
    readers_.push_back(std::move(connection));
  }
  // A thread that forks waits for the same condition variable as those that want to write.
  returned_.notify_all();
}

Status Pool::Borrowed::open() {
  if (connection_ != nullptr) return {};
  Result<std::unique_ptr<Connection>> opened = Connection::open(pool_.options_);
  if (!opened) return std::unexpected(opened.error());
  connection_ = std::move(*opened);
  return {};
}

Result<std::int64_t> Pool::data_version() {
  const std::lock_guard watching(watch_mutex_);
  {
    const std::lock_guard lock(mutex_);
    ++in_use_;
  }
  Result<std::int64_t> version = [this]() -> Result<std::int64_t> {
    if (watcher_ == nullptr) {
      Result<std::unique_ptr<Connection>> opened = Connection::open(options_);
      if (!opened) return std::unexpected(opened.error());
      watcher_ = std::move(*opened);
      ++watchers_opened_;
    }
    return watcher_->integer("PRAGMA data_version");
  }();
  {
    const std::lock_guard lock(mutex_);
    --in_use_;
    returned_.notify_all();
  }
  // The numbers of two connections have nothing to do with each other.
  constexpr std::int64_t kNumbersOfOneConnection = std::int64_t{1} << 32;
  if (version) *version += watchers_opened_ * kNumbersOfOneConnection;
  return version;
}

// Leaves the mutex locked.
void Pool::stop_for_fork() {
  std::unique_lock lock(mutex_);
  returned_.wait(lock, [this] { return in_use_ == 0; });
  writer_.reset();
  readers_.clear();
  watcher_.reset();
  lock.release();
}

}  // namespace allm::sqlite
