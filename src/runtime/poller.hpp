// The file descriptors that the loop watches, on epoll.
#pragma once

#include <array>
#include <chrono>
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
  struct Ready {
    std::array<epoll_event, 64> events{};
    int count = 0;
  };

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
  // Waits until a descriptor is ready, notify() is called or `until` has come.
  void wait(Ready& ready, TimePoint until) const;
  // Calls the watchers of the descriptors in `ready`.
  void dispatch(const Ready& ready);

 private:
  struct Watched {
    Watcher* watcher = nullptr;
    unsigned events = 0;
    bool paused = false;
  };

  void consume_notification() const;

  int epoll_fd_ = -1;
  int event_fd_ = -1;
  std::unordered_map<int, Watched> watched_;
};

}  // namespace allm
