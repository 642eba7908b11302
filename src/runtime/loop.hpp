// The loop: timers, and file descriptors for the transport. It moves things on; it never runs user code that may take
// long.
//
// One thread at a time drives it. That is a thread that waits for what the loop brings, as a guest, if it is the only
// one who does: what arrives is then with its consumer without passing through another thread. In all other cases it is
// the loop's own thread, the host.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "allm/runtime.hpp"

namespace allm {

class Loop;
class Parker;

// What a timer does. Derive from it and own it by shared_ptr; the loop keeps a reference while it is
// armed.
class Timer::Task {
 public:
  virtual ~Task() = default;
  // Called once by whoever drives the loop, unless cancelled before. Must return quickly and not throw.
  virtual void fire() noexcept = 0;

 private:
  friend class Loop;
  friend class Timer;
  static constexpr std::size_t kNotArmed = static_cast<std::size_t>(-1);
  std::chrono::steady_clock::time_point deadline_;
  std::size_t heap_index_ = kNotArmed;
  std::weak_ptr<Loop> loop_;
};

// Told of file descriptors that are ready. The one who watches sees to it that it outlives the watch.
class Watcher {
 public:
  virtual ~Watcher() = default;
  // By whoever drives the loop. `events` as epoll has them. Must return quickly.
  virtual void ready(int fd, unsigned events) noexcept = 0;
};

// Safe from any thread but for what says otherwise. Its own thread starts with the first timer.
class Loop : public std::enable_shared_from_this<Loop> {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop();

  void arm(std::shared_ptr<Timer::Task> task, TimePoint deadline);
  // Whether the task was still waiting. When it was not, fire() may be running.
  bool cancel(Timer::Task& task);
  // Has the task run soon, after all that were posted before it. It cannot be cancelled.
  void post(std::shared_ptr<Timer::Task> task);
  // The same for what can wait until somebody drives: a thread that is about to serve(), or the host within kLook.
  void post_lazily(std::shared_ptr<Timer::Task> task);
  // Ends the thread; tasks still waiting never fire.
  void stop();

  // Only for who drives: from now on `watcher` is told of these epoll events of `fd`, and of
  // errors and hang-ups. A second call for the same descriptor replaces the first.
  void watch(int fd, unsigned events, Watcher& watcher);
  void unwatch(int fd);
  // Its watcher is not told any more until it watches again, which is then cheaper than after unwatch(). For a
  // descriptor that stays open; unwatch() it before it is closed.
  void rest(int fd);
  // From now on what watchers do may raise SIGPIPE: it is kept from threads that drive.
  void expect_broken_pipes();

  // Waits until `guest`, the calling thread's, is woken; false if the deadline came first. Drives the loop meanwhile,
  // unless the host has to. May return early, as if woken.
  bool serve(Parker& guest, const std::optional<TimePoint>& deadline);
  // Makes whoever drives look again.
  void notify() const;

  // Somebody who waits for what the loop brings. One thread at a time.
  class Reader {
   public:
    // `serving` as for set_serving.
    Reader(std::shared_ptr<Loop> loop, bool serving);
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    ~Reader();
    // Whether its thread is about to serve() the loop.
    void set_serving(bool serving);

   private:
    const std::shared_ptr<Loop> loop_;
    bool serving_;
  };

 private:
  enum class Driver : std::uint8_t { nobody, host, guest };
  // How long nobody may drive while there is a reader: a guest that has gone comes back within that, or the host takes
  // over.
  static constexpr std::chrono::seconds kLook{1};

  void post(std::shared_ptr<Timer::Task> task, bool lazily);
  void start_thread();  // unless it runs; the lock is held
  void run();
  // All with the lock held.
  void host(std::unique_lock<std::mutex>& lock);
  bool drive_as_guest(std::unique_lock<std::mutex>& lock, Parker& guest, const std::optional<TimePoint>& deadline);
  bool park(std::unique_lock<std::mutex>& lock, Parker& guest, const std::optional<TimePoint>& deadline);
  // Sees to it that somebody looks by then.
  void look_at(TimePoint time);
  bool is_due() const;
  bool is_timer_due() const;
  // The next one whose time has come; there is one.
  std::shared_ptr<Timer::Task> take_due();
  bool needs_host() const;
  bool is_neglected() const;
  void change_readers(int readers, int absent);
  // One task that is due, or else what arrives until then.
  void turn(std::unique_lock<std::mutex>& lock, TimePoint until, Parker* guest);
  void wait(std::unique_lock<std::mutex>& lock, TimePoint until, Parker* guest);
  std::shared_ptr<Timer::Task> remove(std::size_t index);
  void sift_up(std::size_t index);
  void sift_down(std::size_t index);
  void place(std::size_t index, std::shared_ptr<Timer::Task> task);

  std::mutex mutex_;
  std::vector<std::shared_ptr<Timer::Task>> heap_;  // binary heap, earliest first
  std::deque<std::shared_ptr<Timer::Task>> posted_;
  Driver driver_ = Driver::nobody;
  std::thread::id guest_;  // if it is one that drives
  // When who drives looks next, and when the host does while it does not drive. Arming something later needs no
  // wake-up, which keeps the common case, a deadline that is armed and cancelled, free of system calls.
  TimePoint planned_ = TimePoint::min();
  TimePoint host_planned_ = TimePoint::max();
  TimePoint driven_;  // when anybody last did, or the first reader came
  std::condition_variable host_woken_;
  std::condition_variable guest_left_;
  std::vector<Parker*> parked_;  // who would drive, but that somebody else does
  int readers_ = 0;
  int absent_ = 0;  // of them: those whose thread does not serve
  bool started_ = false;
  bool stopping_ = false;
  int epoll_fd_ = -1;
  int event_fd_ = -1;
  struct Watched {
    Watcher* watcher = nullptr;
    unsigned events = 0;
    bool rests = false;
  };
  std::unordered_map<int, Watched> watched_;  // of who drives
  bool broken_pipes_ = false;
  std::thread thread_;
};

}  // namespace allm
