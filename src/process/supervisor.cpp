#include "process/supervisor.hpp"

#include <cerrno>
#include <csignal>
#include <sys/epoll.h>
#include <utility>

#include "data/read_file.hpp"
#include "process/guard.hpp"
#include "runtime/function_task.hpp"

namespace allm {
namespace {

bool is_end_of_peer(int error) { return error == EPIPE || error == ECONNRESET; }

}  // namespace

Supervisor::Supervisor(std::shared_ptr<Loop> loop, std::string helper, Containment containment)
    : loop_(std::move(loop)), helper_(std::move(helper)), containment_(containment) {}

Supervisor::~Supervisor() { close(); }

void Supervisor::close() {
  std::map<std::uint64_t, std::shared_ptr<JobListener>> dropped;
  if (mark_.is_of_parent_process()) return;
  const std::lock_guard lock(mutex_);
  link_.close();
  dropped.swap(listeners_);
  stopping_.clear();
  watch_stopping();
}

bool Supervisor::is_running() {
  if (mark_.is_of_parent_process()) return false;
  const std::lock_guard lock(mutex_);
  return link_.is_open();
}

std::string Supervisor::start_supervisor() {
  if (link_.is_open()) return {};
  if (std::string error = link_.open(helper_, containment_); !error.empty()) return error;
  heartbeat_.answered();
  watch_line();
  return {};
}

void Supervisor::watch_line() {
  loop_->post(function_task([weak = weak_from_this(), fd = link_.line()] {
    const auto alive = weak.lock();
    if (!alive) return;
    const std::lock_guard lock(alive->mutex_);
    if (alive->link_.line() != fd) return;
    alive->loop_->watch(fd, alive->link_.unsent_bytes() > 0 ? EPOLLIN | EPOLLOUT : EPOLLIN, *alive);
    alive->loop_->watch(alive->link_.ends(), EPOLLIN, *alive);
  }));
}

bool Supervisor::send(std::string_view text) {
  const bool was_empty = link_.unsent_bytes() == 0;
  if (!link_.send(text)) return false;
  if (was_empty && link_.unsent_bytes() > 0) watch_line();
  return true;
}

std::expected<std::uint64_t, std::string> Supervisor::start(JobRequest request, const std::vector<int>& fds,
                                                            std::shared_ptr<JobListener> listener) {
  if (mark_.is_of_parent_process()) return std::unexpected(forked_error().message());
  if (const auto fits = check_size(request); !fits) return std::unexpected(fits.error());
  const std::lock_guard lock(mutex_);
  request.id = ++last_id_;
  const auto text = write_json(to_message(request));
  if (!text) return std::unexpected(text.error().message());
  // Supervisor and guards may have died unnoticed; another attempt gets others.
  constexpr int kTries = 16;  // more than there are guards that wait
  for (int i = 0; i < kTries; ++i) {
    if (link_.is_stopped()) replace_supervisor("the process supervisor was stopped");
    if (link_.has_ended()) replace_supervisor("the process supervisor was killed");
    if (std::string error = start_supervisor(); !error.empty()) return std::unexpected(std::move(error));
    if (!prepare_guard()) {
      if (link_.is_open()) return std::unexpected("the process supervisor cannot be told: " + errno_text(errno));
      continue;
    }
    if (link_.give(request.id, *text, fds)) {
      listeners_.emplace(request.id, std::move(listener));
      prepare_guard();
      arm_heartbeat();
      return request.id;
    }
    if (!is_end_of_peer(errno)) return std::unexpected("the guard cannot be told: " + errno_text(errno));
  }
  return std::unexpected("the processes that guard it have ended");
}

bool Supervisor::prepare_guard() {
  const bool was_empty = link_.unsent_bytes() == 0;
  if (!link_.prepare()) {
    if (is_end_of_peer(errno)) replace_supervisor("the process supervisor was killed");
    return false;
  }
  if (was_empty && link_.unsent_bytes() > 0) watch_line();
  return true;
}

void Supervisor::replace_supervisor(const std::string& why) {
  Ended ended;
  take_reports(ended);
  lose_jobs(ended, why);
  // The driver closes the descriptors, so that their numbers are not reused while the loop still watches them.
  loop_->post(function_task([loop = loop_, watched = link_.end(), ended = std::move(ended)]() mutable {
    loop->unwatch(watched.line.get());
    loop->unwatch(watched.ends.get());
    watched = {};
    notify(ended);
  }));
}

void Supervisor::lose_jobs(Ended& ended, const std::string& why) {
  for (auto& [id, listener] : std::exchange(listeners_, {})) {
    ended.emplace_back(std::move(listener), JobEnd{.id = id, .signal = SIGKILL, .lost = why});
  }
  stopping_.clear();
  watch_stopping();
}

void Supervisor::notify(const Ended& ended) {
  for (const auto& [listener, end] : ended) listener->job_ended(end);
}

void Supervisor::stop(std::uint64_t job, std::chrono::milliseconds grace) {
  if (mark_.is_of_parent_process()) return;
  const std::lock_guard lock(mutex_);
  if (!listeners_.contains(job)) return;
  stopping_.insert(job);
  watch_stopping();
  // A failed send means that the supervisor has ended with all its jobs; ready() handles that.
  const bool was_empty = link_.unsent_bytes() == 0;
  if (link_.stop(job, grace) && was_empty && link_.unsent_bytes() > 0) watch_line();
}

void Supervisor::watch_stopping() {
  if (stopping_.empty()) {
    awaited_.reset();
  } else if (!awaited_) {
    awaited_.emplace(loop_, false);
  }
}

bool Supervisor::take_reports(Ended& ended) {
  std::vector<Json> messages;
  const bool is_alive = link_.receive(messages);
  if (!messages.empty()) heartbeat_.answered();
  // Before the end of a guard that has told them.
  for (const std::uint64_t job : link_.receive_ends()) take_end({.id = job, .status = 0}, true, ended);
  for (const Json& message : messages) {
    if (!message.contains("ended")) continue;
    JobEnd end = job_end_from(message);
    if (message.contains(kLostPlace)) end.id = link_.lose_place(message[kLostPlace].get<std::uint64_t>());
    take_end(std::move(end), message.value(kWaits, false), ended);
  }
  return is_alive;
}

void Supervisor::take_end(JobEnd end, bool waits, Ended& ended) {
  if (end.id == 0) return;  // of a guard that had no job
  link_.job_ended(end.id, waits);
  const auto listener = listeners_.find(end.id);
  if (listener == listeners_.end()) return;
  stopping_.erase(end.id);
  ended.emplace_back(std::move(listener->second), std::move(end));
  listeners_.erase(listener);
}

void Supervisor::ready(int fd, unsigned events) noexcept {
  Ended ended;
  {
    const std::lock_guard lock(mutex_);
    // A descriptor of a supervisor that has been replaced.
    if (fd != link_.line() && fd != link_.ends()) return loop_->unwatch(fd);
    bool is_alive = take_reports(ended);
    if (fd == link_.line() && (events & EPOLLOUT) != 0) {
      is_alive = link_.flush() && is_alive;
      if (link_.unsent_bytes() == 0) loop_->watch(fd, EPOLLIN, *this);
    }
    if (!is_alive) {
      loop_->unwatch(link_.line());
      loop_->unwatch(link_.ends());
      lose_jobs(ended, "the process supervisor was killed");
      link_.end();
    }
    watch_stopping();
  }
  notify(ended);
}

void Supervisor::arm_heartbeat() {
  if (heartbeat_armed_) return;
  heartbeat_armed_ = true;
  loop_->arm(function_task([weak = weak_from_this()] {
               if (const auto self = weak.lock()) self->beat();
             }),
             std::chrono::steady_clock::now() + Heartbeat::kInterval);
}

void Supervisor::beat() {
  const std::lock_guard lock(mutex_);
  heartbeat_armed_ = false;
  // Without jobs nothing depends on the supervisor, and start() looks whether it runs.
  if (!link_.is_open() || listeners_.empty()) return;
  if (link_.is_stopped()) return replace_supervisor("the process supervisor was stopped");
  if (heartbeat_.is_silent()) return replace_supervisor("the process supervisor did not answer");
  send(R"({"ping":1})");
  arm_heartbeat();
}

}  // namespace allm
