// A store that kills its process at a commit, and notes each lease, which the other side releases after the death.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allm/store.hpp"

#include "tests/kill/effects.hpp"
#include "tests/kill/life.hpp"

namespace allm::kill_matrix {

// Safe to call from any thread.
class KillingStore : public SessionStore {
 public:
  KillingStore(std::shared_ptr<SessionStore> store, Life life) : store_(std::move(store)), life_(std::move(life)) {}

  // The number of commits so far.
  std::int64_t commits() {
    const std::lock_guard lock(mutex_);
    return commits_;
  }

  Result<StoredSession> create(NewSession session) override { return store_->create(std::move(session)); }
  Result<StoredSession> load(const std::string& id) override { return store_->load(id); }
  Result<SessionPage> list(const SessionQuery& query) override { return store_->list(query); }
  Status remove(const std::string& id) override { return store_->remove(id); }
  Result<Committed> commit(const Commit& change) override {
    const std::lock_guard lock(mutex_);
    const bool is_now = ++commits_ == life_.death.at;
    if (is_now && life_.death.kind == DeathKind::before_commit) die("before", change);
    Result<Committed> committed = store_->commit(change);
    if (is_now && life_.death.kind == DeathKind::after_commit) die("after", change);
    return committed;
  }
  Result<std::vector<LogEntry>> read_log(const std::string& id, std::int64_t after, std::size_t limit,
                                         std::string_view kind) override {
    return store_->read_log(id, after, limit, kind);
  }
  Result<bool> wait_for_log(const std::string& id, std::int64_t after, std::chrono::milliseconds timeout) override {
    return store_->wait_for_log(id, after, timeout);
  }
  Result<Lease> acquire(const std::string& id, std::chrono::milliseconds duration) override {
    Result<Lease> lease = store_->acquire(id, duration);
    if (lease) {
      note_effect(life_.effects, {.what = "lease", .life = life_.number, .subject = std::to_string(lease->fence)});
    }
    return lease;
  }
  Result<Lease> renew(const Lease& lease, std::chrono::milliseconds duration) override {
    return store_->renew(lease, duration);
  }
  Status release(const Lease& lease) override { return store_->release(lease); }

 private:
  void die(const char* when, const Commit& change) const {
    for (const LogEntry& entry : change.entries) {
      note_effect(life_.effects, {.what = "killed", .life = life_.number, .subject = entry.kind, .key = when});
    }
    raise(SIGKILL);
  }

  const std::shared_ptr<SessionStore> store_;
  const Life life_;
  std::mutex mutex_;
  std::int64_t commits_ = 0;
};

}  // namespace allm::kill_matrix
