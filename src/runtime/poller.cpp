#include "runtime/poller.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <span>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

#include "runtime/fork_guard.hpp"

namespace allm {
namespace {

constexpr int kNoDescriptor = -1;

// Zero for a time in the past.
timespec time_until(Poller::TimePoint time) {
  timespec left{};
  if (time == Poller::TimePoint::min()) return left;
  const auto nanoseconds = std::max<std::int64_t>(
      0, std::chrono::duration_cast<std::chrono::nanoseconds>(time - std::chrono::steady_clock::now()).count());
  left.tv_sec = static_cast<time_t>(nanoseconds / 1'000'000'000);
  left.tv_nsec = static_cast<long>(nanoseconds % 1'000'000'000);
  return left;
}

std::chrono::nanoseconds computed_by_this_thread() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// A time of computing. While the system does not run this thread, no time passes: descriptors that were ready before a
// timer became due shall not be late because of that.
class Slice {
 public:
  explicit Slice(std::chrono::nanoseconds length) : length_(length) {}
  bool is_over() const {
    // The clock of the thread costs a system call; the other one does not, and is never behind.
    return std::chrono::steady_clock::now() - begin_ >= length_ && computed_by_this_thread() - computed_ >= length_;
  }

 private:
  const std::chrono::nanoseconds length_;
  const std::chrono::nanoseconds computed_ = computed_by_this_thread();
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

Poller::Poller() {
  count_forks();
  const NoForkNow guard;
  epoll_fd_ = epoll_create1(EPOLL_CLOEXEC);
  event_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = event_fd_;
  if (epoll_fd_ < 0 || event_fd_ < 0 || epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, event_fd_, &event) != 0) {
    const int error = errno;
    if (event_fd_ >= 0) close(event_fd_);
    if (epoll_fd_ >= 0) close(epoll_fd_);
    throw std::system_error(error, std::generic_category(), "allm: cannot create the loop's descriptors");
  }
  hide_from_children(epoll_fd_);
  hide_from_children(event_fd_);
}

Poller::~Poller() {
  close_hidden(event_fd_);
  close_hidden(epoll_fd_);
}

void Poller::watch(int fd, unsigned events, Watcher& watcher) {
  const auto [entry, added] = watched_.try_emplace(fd);
  const bool known = !added;
  const Watched& before = entry->second;
  const bool was_paused = before.paused && before.watcher == &watcher && before.events == events;
  entry->second = {.watcher = &watcher, .events = events};
  if (was_paused) return;
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  if (epoll_ctl(epoll_fd_, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) == 0) return;
  // The kernel removes a descriptor from the epoll set when it is closed, and the number may have been reused.
  epoll_ctl(epoll_fd_, errno == ENOENT ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event);
}

void Poller::unwatch(int fd) {
  if (watched_.erase(fd) == 0) return;
  // The number may be used again before dispatch() comes to it.
  const auto left = std::span(ready_.events).subspan(ready_.next, ready_.end - ready_.next);
  const auto found = std::ranges::find(left, fd, [](const epoll_event& event) { return event.data.fd; });
  if (found != left.end()) found->data.fd = kNoDescriptor;
  // curl may have closed the descriptor without telling, and its number may belong to another runtime by now. The
  // kernel then finds no entry; ThreadSanitizer, which sees only the number, would report a race in epoll_ctl().
  syscall(SYS_epoll_ctl, epoll_fd_, EPOLL_CTL_DEL, fd, nullptr);
}

void Poller::pause(int fd) {
  const auto entry = watched_.find(fd);
  if (entry != watched_.end()) entry->second.paused = true;
}

void Poller::notify() const {
  const std::uint64_t one = 1;
  // A full counter means that a notification is pending already.
  [[maybe_unused]] const ssize_t written = write(event_fd_, &one, sizeof one);
}

void Poller::consume_notification() const {
  std::uint64_t value = 0;
  [[maybe_unused]] const ssize_t got = read(event_fd_, &value, sizeof value);
}

void Poller::wait(TimePoint until) {
  if (ready_.next != ready_.end) return;
  const bool forever = until == TimePoint::max();
  const timespec timeout = forever ? timespec{} : time_until(until);
  const int count = epoll_pwait2(epoll_fd_, ready_.events.data(), static_cast<int>(ready_.events.size()),
                                 forever ? nullptr : &timeout, nullptr);
  ready_.next = 0;
  ready_.end = static_cast<std::size_t>(std::max(count, 0));
}

void Poller::dispatch() {
  if (ready_.next == ready_.end) return;
  if (ready_.next + 1 == ready_.end) return dispatch(ready_.events[ready_.next++]);
  const Slice slice(kMaxDispatch);
  do {
    dispatch(ready_.events[ready_.next++]);
  } while (ready_.next != ready_.end && !slice.is_over());
}

void Poller::dispatch(const epoll_event& event) {
  if (event.data.fd == event_fd_) return consume_notification();
  const auto watched = watched_.find(event.data.fd);
  if (watched == watched_.end()) return;
  if (watched->second.paused) {
    unwatch(event.data.fd);  // or epoll would report it again and again
  } else {
    watched->second.watcher->ready(event.data.fd, event.events);
  }
}

}  // namespace allm
