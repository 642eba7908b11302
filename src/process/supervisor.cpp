#include "process/supervisor.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "data/read_file.hpp"
#include "process/exec_texts.hpp"
#include "process/helper.hpp"
#include "process/role.hpp"
#include "process/secret_variables.hpp"
#include "runtime/function_task.hpp"

namespace allm {
namespace {

constexpr std::size_t kMaxReportBytes = std::size_t{1} << 20U;

// 0, or an errno.
int spawn_supervisor(const std::string& executable, int line, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, line, kLineFd);
  posix_spawn_file_actions_addclosefrom_np(&actions, kLineFd + 1);
  posix_spawnattr_init(&attributes);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigfillset(&signals);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  // A session of its own keeps terminal signals to the program's process group away from the supervisor.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string name = "allm-supervisor";
  std::array<char*, 2> arguments = {name.data(), nullptr};
  std::vector<std::string> environment = environment_without_secrets();
  environment.push_back(std::string(kRoleVariable) + "=supervisor:" + std::to_string(getpid()));
  std::vector<char*> variables = exec_pointers(environment);
  const int error = posix_spawn(&pid, executable.c_str(), &actions, &attributes, arguments.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error;
}

}  // namespace

Supervisor::Supervisor(std::shared_ptr<Loop> loop, std::string helper)
    : loop_(std::move(loop)), helper_(std::move(helper)) {}

Supervisor::~Supervisor() { close(); }

void Supervisor::close() {
  std::map<std::uint64_t, std::shared_ptr<JobListener>> dropped;
  const std::lock_guard lock(mutex_);
  line_.reset();
  if (pid_ > 0) waitpid(std::exchange(pid_, 0), nullptr, 0);
  dropped.swap(listeners_);
  stopping_.clear();
  watch_stopping();
}

bool Supervisor::is_running() {
  const std::lock_guard lock(mutex_);
  return static_cast<bool>(line_);
}

std::string Supervisor::start_supervisor() {
  if (line_) return {};
  const auto executable = find_helper(helper_);
  if (!executable) return executable.error();
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return "no socket could be made: " + errno_text(errno);
  }
  Fd ours(ends[0]);
  // The number must differ from kLineFd: dup2 onto the same number would keep close-on-exec set.
  const Fd theirs(fcntl(ends[1], F_DUPFD_CLOEXEC, kLineFd + 1));
  ::close(ends[1]);
  if (const int error = spawn_supervisor(*executable, theirs.get(), pid_); error != 0) {
    return "the process supervisor could not be started from " + *executable + ": " + errno_text(error);
  }
  line_ = std::move(ours);
  frames_ = {};
  loop_->post(function_task([weak = weak_from_this(), fd = line_.get()] {
    const auto alive = weak.lock();
    if (!alive) return;
    const std::lock_guard lock(alive->mutex_);
    if (alive->line_.get() == fd) alive->loop_->watch(fd, EPOLLIN, *alive);
  }));
  return {};
}

std::expected<std::uint64_t, std::string> Supervisor::start(JobRequest request, const std::vector<int>& fds,
                                                            std::shared_ptr<JobListener> listener) {
  const std::lock_guard lock(mutex_);
  request.id = ++last_id_;
  const auto text = write_json(to_message(request));
  if (!text) return std::unexpected(text.error().message());
  // The supervisor may have died unnoticed; the second attempt starts another one.
  constexpr int kTries = 2;
  for (int i = 0; i < kTries; ++i) {
    if (std::string error = start_supervisor(); !error.empty()) return std::unexpected(std::move(error));
    if (send_all(line_.get(), make_frame(*text), fds)) {
      listeners_.emplace(request.id, std::move(listener));
      return request.id;
    }
    const int error = errno;
    if (error != EPIPE && error != ECONNRESET) {
      return std::unexpected("the process supervisor cannot be told: " + errno_text(error));
    }
    replace_supervisor();
  }
  return std::unexpected("the process supervisor has gone");
}

void Supervisor::replace_supervisor() {
  Ended ended;
  take_reports(ended);
  // The driver closes the socket, so that its number is not reused while the loop still watches it.
  Fd line = std::move(line_);
  lose_supervisor(ended);
  loop_->post(function_task([loop = loop_, line = std::move(line), ended = std::move(ended)]() mutable {
    loop->unwatch(line.get());
    line.reset();
    notify(ended);
  }));
}

void Supervisor::lose_supervisor(Ended& ended) {
  for (auto& [id, listener] : std::exchange(listeners_, {})) {
    ended.emplace_back(std::move(listener), JobEnd{.id = id, .signal = SIGKILL});
  }
  stopping_.clear();
  watch_stopping();
  line_.reset();
  waitpid(std::exchange(pid_, 0), nullptr, 0);
}

void Supervisor::notify(const Ended& ended) {
  for (const auto& [listener, end] : ended) listener->job_ended(end);
}

void Supervisor::stop(std::uint64_t job, std::chrono::milliseconds grace) {
  const std::lock_guard lock(mutex_);
  if (!listeners_.contains(job)) return;
  stopping_.insert(job);
  watch_stopping();
  const auto text = write_json(stop_message(job, grace));
  // A failed send means that the supervisor has ended with all its jobs; ready() handles that.
  send_all(line_.get(), make_frame(*text));
}

void Supervisor::watch_stopping() {
  if (stopping_.empty()) {
    awaited_.reset();
  } else if (!awaited_) {
    awaited_.emplace(loop_, false);
  }
}

bool Supervisor::take_reports(Ended& ended) {
  std::array<char, 65536> buffer{};
  ssize_t got = 0;
  while ((got = recv(line_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT)) > 0) {
    frames_.feed({buffer.data(), static_cast<std::size_t>(got)});
    while (const auto frame = frames_.next(kMaxReportBytes)) {
      const auto message = parse_json(*frame);
      if (!message) continue;
      JobEnd end = job_end_from(*message);
      const auto listener = listeners_.find(end.id);
      if (listener == listeners_.end()) continue;
      stopping_.erase(end.id);
      ended.emplace_back(std::move(listener->second), std::move(end));
      listeners_.erase(listener);
    }
  }
  return got < 0 && (errno == EAGAIN || errno == EINTR);
}

void Supervisor::ready(int fd, unsigned /*events*/) noexcept {
  Ended ended;
  {
    const std::lock_guard lock(mutex_);
    if (fd != line_.get()) return loop_->unwatch(fd);  // the socket of a supervisor that has been replaced
    if (!take_reports(ended)) {
      loop_->unwatch(fd);
      lose_supervisor(ended);
    }
    watch_stopping();
  }
  notify(ended);
}

}  // namespace allm
