#include "stores/postgres/listener.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <poll.h>
#include <sys/eventfd.h>

namespace allm::postgres {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kLogChannel = "allm_log";

}  // namespace

Listener::~Listener() {
  if (!thread_.joinable()) return;
  ::eventfd_write(stop_.get(), 1);
  thread_.join();
}

void Listener::start() {
  if (thread_.joinable()) return;
  stop_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  thread_ = std::thread([this] { run(); });
}

std::uint64_t Listener::job_signals() {
  const std::lock_guard lock(mutex_);
  return job_signals_;
}

bool Listener::wait_for_jobs(std::uint64_t seen, Time until) {
  std::unique_lock lock(mutex_);
  start();
  return changed_.wait_until(lock, until, [&] { return job_signals_ != seen; });
}

Listener::LogWaiter::LogWaiter(Listener& listener, std::string id) : listener_(listener), id_(std::move(id)) {
  const std::lock_guard lock(listener_.mutex_);
  listener_.start();
  listener_.log_waiters_.emplace(id_, this);
}

Listener::LogWaiter::~LogWaiter() {
  const std::lock_guard lock(listener_.mutex_);
  std::erase_if(listener_.log_waiters_, [this](const auto& entry) { return entry.second == this; });
}

void Listener::LogWaiter::wait(Time until) {
  std::unique_lock lock(listener_.mutex_);
  listener_.changed_.wait_until(lock, until, [this] { return signalled_; });
  signalled_ = false;
}

void Listener::run() {
  auto pause = 50ms;
  do {
    auto connection = Connection::open(address_);
    if (!connection || !connection->run_script("LISTEN allm_log; LISTEN allm_jobs")) {
      pause = std::min(pause * 2, 2000ms);
      continue;
    }
    pause = 50ms;
    wake_all();
    receive(*connection);
  } while (!wait_for_input(-1, pause));
}

// Returns when the connection is lost or the thread must end.
void Listener::receive(Connection& connection) {
  while (!wait_for_input(::PQsocket(connection.get()), -1ms)) {
    if (::PQconsumeInput(connection.get()) == 0) return;
    while (const std::unique_ptr<PGnotify, decltype(&::PQfreemem)> notification{::PQnotifies(connection.get()),
                                                                                &::PQfreemem}) {
      handle(*notification);
    }
  }
}

// Waits for bytes on the socket (none: -1), or until the timeout (none: negative). Returns whether the thread must end.
bool Listener::wait_for_input(int socket, std::chrono::milliseconds timeout) {
  std::array<pollfd, 2> sources = {pollfd{.fd = stop_.get(), .events = POLLIN, .revents = 0},
                                   pollfd{.fd = socket, .events = POLLIN, .revents = 0}};
  ::poll(sources.data(), sources.size(), static_cast<int>(timeout.count()));
  return sources[0].revents != 0;
}

void Listener::handle(const PGnotify& notification) {
  {
    const std::lock_guard lock(mutex_);
    if (notification.relname == kLogChannel) {
      const auto [begin, end] = log_waiters_.equal_range(notification.extra);
      std::for_each(begin, end, [](const auto& entry) { entry.second->signalled_ = true; });
    } else {
      ++job_signals_;
    }
  }
  changed_.notify_all();
}

void Listener::wake_all() {
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, waiter] : log_waiters_) waiter->signalled_ = true;
    ++job_signals_;
  }
  changed_.notify_all();
}

}  // namespace allm::postgres
