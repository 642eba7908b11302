#include "runtime/loop.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "runtime/parker.hpp"

namespace allm {
namespace {

// None if that was in the past; anything for a time that never comes.
timespec time_until(std::chrono::steady_clock::time_point time) {
  using std::chrono::steady_clock;
  timespec left{};
  if (time == steady_clock::time_point::min() || time == steady_clock::time_point::max()) return left;
  const auto nanoseconds = std::max<std::int64_t>(
      0, std::chrono::duration_cast<std::chrono::nanoseconds>(time - steady_clock::now()).count());
  left.tv_sec = static_cast<time_t>(nanoseconds / 1'000'000'000);
  left.tv_nsec = static_cast<long>(nanoseconds % 1'000'000'000);
  return left;
}

}  // namespace

Loop::Loop() : epoll_fd_(epoll_create1(EPOLL_CLOEXEC)), event_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = event_fd_;
  if (epoll_fd_ < 0 || event_fd_ < 0 || epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, event_fd_, &event) != 0) {
    throw std::system_error(errno, std::generic_category(), "allm: cannot create the loop's descriptors");
  }
}

Loop::~Loop() {
  stop();
  if (event_fd_ >= 0) close(event_fd_);
  if (epoll_fd_ >= 0) close(epoll_fd_);
}

void Loop::arm(std::shared_ptr<Timer::Task> task, TimePoint deadline) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return;
  task->loop_ = weak_from_this();
  task->deadline_ = deadline;
  heap_.push_back(nullptr);
  place(heap_.size() - 1, std::move(task));
  sift_up(heap_.size() - 1);
  start_thread();
  look_at(deadline);
}

void Loop::post(std::shared_ptr<Timer::Task> task) { post(std::move(task), false); }
void Loop::post_lazily(std::shared_ptr<Timer::Task> task) { post(std::move(task), true); }

void Loop::post(std::shared_ptr<Timer::Task> task, bool lazily) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return;
  posted_.push_back(std::move(task));
  start_thread();
  const bool can_wait = lazily && driver_ == Driver::nobody;
  look_at(can_wait ? std::chrono::steady_clock::now() + kLook : TimePoint::min());
}

void Loop::look_at(TimePoint time) {
  TimePoint& planned = driver_ == Driver::nobody ? host_planned_ : planned_;
  if (time >= planned) return;
  planned = time;
  if (driver_ == Driver::nobody) {
    host_woken_.notify_one();
  } else {
    notify();
  }
}

void Loop::start_thread() {
  if (started_) return;
  thread_ = std::thread([self = shared_from_this()] { self->run(); });
  started_ = true;
}

void Loop::watch(int fd, unsigned events, Watcher& watcher) {
  const auto [entry, added] = watched_.try_emplace(fd);
  const bool known = !added;
  const Watched& before = entry->second;
  const bool rested = before.rests && before.watcher == &watcher && before.events == events;
  entry->second = {.watcher = &watcher, .events = events};
  if (rested) return;
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  if (epoll_ctl(epoll_fd_, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) == 0) return;
  // A descriptor that was closed while it was watched has left the set by itself, and may be another by now.
  epoll_ctl(epoll_fd_, errno == ENOENT ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event);
}

void Loop::unwatch(int fd) {
  if (watched_.erase(fd) == 0) return;
  epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, nullptr);
}

void Loop::rest(int fd) {
  const auto entry = watched_.find(fd);
  if (entry != watched_.end()) entry->second.rests = true;
}

void Loop::expect_broken_pipes() {
  const std::lock_guard lock(mutex_);
  broken_pipes_ = true;
}

bool Loop::cancel(Timer::Task& task) {
  std::shared_ptr<Timer::Task> removed;  // released after the lock: its destructor is the owner's code
  const std::lock_guard lock(mutex_);
  if (task.heap_index_ == Timer::Task::kNotArmed) return false;
  removed = remove(task.heap_index_);
  return true;
}

void Loop::stop() {
  std::vector<std::shared_ptr<Timer::Task>> dropped;
  std::deque<std::shared_ptr<Timer::Task>> dropped_posts;
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    for (auto& task : heap_) task->heap_index_ = Timer::Task::kNotArmed;
    dropped.swap(heap_);
    dropped_posts.swap(posted_);
    notify();
    host_woken_.notify_one();
    guest_left_.wait(lock, [this] { return driver_ != Driver::guest || guest_ == std::this_thread::get_id(); });
  }
  if (!thread_.joinable()) return;
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

void Loop::notify() const {
  const std::uint64_t one = 1;
  // A full counter means that a wake-up is pending already.
  [[maybe_unused]] const ssize_t written = write(event_fd_, &one, sizeof one);
}

void Loop::wait(std::unique_lock<std::mutex>& lock, TimePoint until, Parker* guest) {
  if (!heap_.empty()) until = std::min(until, heap_.front()->deadline_);
  planned_ = until;
  lock.unlock();
  std::array<epoll_event, 64> events{};
  int count = 0;
  if (guest == nullptr || guest->begin_driving(*this)) {
    const timespec timeout = time_until(until);
    count = epoll_pwait2(epoll_fd_, events.data(), static_cast<int>(events.size()),
                         until == TimePoint::max() ? nullptr : &timeout, nullptr);
  }
  if (guest != nullptr) guest->end_driving();
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if (event.data.fd == event_fd_) {
      std::uint64_t value = 0;
      [[maybe_unused]] const ssize_t got = read(event_fd_, &value, sizeof value);
    } else if (const auto watched = watched_.find(event.data.fd); watched != watched_.end()) {
      if (watched->second.rests) {
        unwatch(event.data.fd);  // or it would be reported again and again
      } else {
        watched->second.watcher->ready(event.data.fd, event.events);
      }
    }
  }
  lock.lock();
  planned_ = TimePoint::min();
}

void Loop::turn(std::unique_lock<std::mutex>& lock, TimePoint until, Parker* guest) {
  if (!is_due()) return wait(lock, until, guest);
  // One at a time, so that a callback can still cancel what is due after it.
  std::shared_ptr<Timer::Task> due = take_due();
  lock.unlock();
  due->fire();
  due.reset();
  lock.lock();
}

bool Loop::is_due() const { return !posted_.empty() || is_timer_due(); }

bool Loop::is_timer_due() const {
  return !heap_.empty() && heap_.front()->deadline_ <= std::chrono::steady_clock::now();
}

std::shared_ptr<Timer::Task> Loop::take_due() {
  if (posted_.empty()) return remove(0);
  std::shared_ptr<Timer::Task> first = std::move(posted_.front());
  posted_.pop_front();
  return first;
}

void Loop::run() {
  pthread_setname_np(pthread_self(), "allm-loop");
  // Signals are for the program's own threads.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);

  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (driver_ == Driver::nobody && (needs_host() || is_due() || is_neglected() || !parked_.empty())) {
      host(lock);
      continue;
    }
    host_planned_ = heap_.empty() || driver_ == Driver::guest ? TimePoint::max() : heap_.front()->deadline_;
    if (readers_ > 0) host_planned_ = std::min(host_planned_, std::chrono::steady_clock::now() + kLook);
    if (host_planned_ == TimePoint::max()) {
      host_woken_.wait(lock);
    } else {
      host_woken_.wait_until(lock, TimePoint(host_planned_));
    }
    host_planned_ = TimePoint::min();
  }
}

std::shared_ptr<Timer::Task> Loop::remove(std::size_t index) {
  std::shared_ptr<Timer::Task> task = std::move(heap_[index]);
  task->heap_index_ = Timer::Task::kNotArmed;
  std::shared_ptr<Timer::Task> last = std::move(heap_.back());
  heap_.pop_back();
  if (index < heap_.size()) {
    place(index, std::move(last));
    sift_up(index);
    sift_down(index);
  }
  return task;
}

void Loop::place(std::size_t index, std::shared_ptr<Timer::Task> task) {
  task->heap_index_ = index;
  heap_[index] = std::move(task);
}

void Loop::sift_up(std::size_t index) {
  while (index > 0) {
    const std::size_t parent = (index - 1) / 2;
    if (heap_[parent]->deadline_ <= heap_[index]->deadline_) return;
    std::swap(heap_[parent]->heap_index_, heap_[index]->heap_index_);
    heap_[parent].swap(heap_[index]);
    index = parent;
  }
}

void Loop::sift_down(std::size_t index) {
  while (true) {
    std::size_t least = index;
    for (std::size_t child = 2 * index + 1; child <= 2 * index + 2 && child < heap_.size(); ++child) {
      if (heap_[child]->deadline_ < heap_[least]->deadline_) least = child;
    }
    if (least == index) return;
    std::swap(heap_[least]->heap_index_, heap_[index]->heap_index_);
    heap_[least].swap(heap_[index]);
    index = least;
  }
}

}  // namespace allm
