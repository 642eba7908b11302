// The queue between a run, which records facts on the consumer's thread, and the thread that commits them.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <vector>

#include "allm/store.hpp"
#include "allm/stream.hpp"

#include "engine/run_journal.hpp"
#include "stores/journal/lease_clock.hpp"

namespace allm {

// Safe to call from any thread.
class JournalQueue {
 public:
  using Position = RunJournal::Position;
  using Clock = std::chrono::steady_clock;

  // --- For the run; see RunJournal ---
  Position add(LogEntry fact);
  // Adds an event, which nobody waits for.
  void add_event(LogEntry event);
  // Adds the last fact, together with the session that is saved with it.
  void end(LogEntry fact, Session session);
  Position last() const { return last_.load(std::memory_order_acquire); }
  bool is_committed(Position position) const { return committed_.load(std::memory_order_acquire) >= position; }
  void flush();
  void watch(const Waker& waker);
  std::optional<Error> failure() const;
  bool may_start();
  bool wait_to_start();
  // The run is over or was dropped.
  void close();

  // --- For the writer ---
  struct Batch {
    std::vector<LogEntry> entries = {};
    std::optional<Session> session = std::nullopt;  // with the last fact
    Position last = 0;
    bool closed = false;
    bool needs_lease = false;  // something waits for may_start()
  };
  // Waits until there is something to commit, until the queue is closed, until the lease is needed or until `deadline`.
  Batch take(Clock::time_point deadline);
  void committed(Position last);
  void fail(Error error);
  // The lease is certainly valid until then.
  void set_lease_end(LeaseClock::time_point end);
  bool has_lease() const { return LeaseClock::now().time_since_epoch().count() < lease_end_.load(); }
  bool is_closed() const;
  // Wakes the run.
  void wake();

 private:
  // Events alone are committed after this time, so that the many deltas of a text share a commit.
  static constexpr std::chrono::milliseconds kEventDelay{50};
  bool is_due(Clock::time_point now) const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<LogEntry> entries_;
  std::optional<Session> session_;
  bool flush_ = false;
  bool closed_ = false;
  bool needs_lease_ = false;
  std::condition_variable may_start_;
  std::atomic<LeaseClock::rep> lease_end_{0};
  std::optional<Clock::time_point> events_due_;
  std::atomic<Position> last_{0};
  std::atomic<Position> committed_{0};
  std::optional<Error> failure_;
  std::atomic<bool> failed_{false};
  Waker waker_;
};

}  // namespace allm
