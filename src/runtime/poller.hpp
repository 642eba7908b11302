// The file descriptors that the loop watches, on epoll.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <sys/epoll.h>
#include <unordered_map>

namespace allm {

// Called when a file descriptor is ready. The caller of watch() keeps the watcher alive until unwatch().
class Watcher {
 public:
  virtual ~Watcher() = default;
  // On the thread that drives the loop. `events` are those of epoll. Must return quickly.
  virtual void ready(int fd, unsigned events) noexcept = 0;
};

// notify() is safe to call from any thread; everything else is for the thread that drives the loop.
class Poller {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  // How long dispatch() may compute before other work gets its turn.
  static constexpr std::chrono::milliseconds kMaxDispatch{1};

  // Throws std::system_error if its descriptors cannot be opened.
  Poller();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;
  ~Poller();

  void watch(int fd, unsigned events, Watcher& watcher);
  void unwatch(int fd);
  void pause(int fd);

  // Ends a wait(), the one that runs now or the next.
  void notify() const;
  // Waits until a descriptor is ready, notify() is called or `until` has come. Returns at once if dispatch() has left
  // descriptors over.
  void wait(TimePoint until);
  // Calls the watchers of the descriptors that wait() has found, until all were called or kMaxDispatch was
  // computed.
  void dispatch();
  // Drops what dispatch() has left over. The next wait() finds it again.
  void forget_ready() { ready_.next = ready_.end = 0; }
  // Whether dispatch() has left descriptors over.
  bool has_ready() const { return ready_.next != ready_.end; }

 private:
  struct Watched {
    Watcher* watcher = nullptr;
    unsigned events = 0;
    bool paused = false;
  };

  // What the last wait() has found. Watchers were called for the events before `next`.
  struct Ready {
    std::array<epoll_event, 64> events{};
    std::size_t next = 0;
    std::size_t end = 0;
  };

  void dispatch(const epoll_event& event);
  void consume_notification() const;

  int epoll_fd_ = -1;
  int event_fd_ = -1;
  std::unordered_map<int, Watched> watched_;
  Ready ready_;
};

}  // namespace allm
