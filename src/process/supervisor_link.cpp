#include "process/supervisor_link.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <iterator>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "data/read_file.hpp"
#include "process/cgroup.hpp"
#include "process/containment.hpp"
#include "process/exec_texts.hpp"
#include "process/helper.hpp"
#include "process/job.hpp"
#include "process/role.hpp"
#include "process/secret_variables.hpp"
#include "process/sweep.hpp"

namespace allm {
namespace {

// Guards that wait for a job; further ones end.
constexpr std::ptrdiff_t kMaxWaiting = 4;
constexpr std::size_t kMaxLineBytes = std::size_t{64} << 10U;
constexpr std::size_t kMaxReportBytes = std::size_t{1} << 20U;
// How long the supervisor may take to end its jobs: a little longer than it waits for its guards.
constexpr std::chrono::seconds kCloseTime{15};
// How long the supervisor may take to stop. Only one that waits for a disk or is just ending takes longer than its next
// system call.
constexpr std::chrono::seconds kSupervisorStopTime{1};

// 0, or an errno.
int spawn_supervisor(const std::string& executable, int line, int lifeline, int ends, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, line, kLineFd);
  posix_spawn_file_actions_adddup2(&actions, lifeline, kLifelineFd);
  posix_spawn_file_actions_adddup2(&actions, ends, kEndsFd);
  posix_spawn_file_actions_addclosefrom_np(&actions, kEndsFd + 1);
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

// A copy whose number differs from those that the supervisor gets: dup2 onto the same number would keep close-on-exec
// set.
Fd high_copy(int fd) { return Fd(fcntl(fd, F_DUPFD_CLOEXEC, kEndsFd + 1)); }

// The frame of a request. One that would not fit into the buffer of a socket is written to a memory file, which goes
// along as the last descriptor of an empty frame. Empty with errno set on an error.
std::string frame_of(const std::string& request, HiddenFd& file) {
  if (request.size() <= kMaxLineBytes) return make_frame(request);
  {
    const NoForkNow guard;
    file = HiddenFd(memfd_create("allm-job", MFD_CLOEXEC));
  }
  if (!file) return {};
  for (std::string_view rest = request; !rest.empty();) {
    const ssize_t written = write(file.get(), rest.data(), rest.size());
    if (written < 0) return {};
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  return make_frame({});
}

}  // namespace

std::string SupervisorLink::open(const std::string& helper, Containment containment) {
  const auto executable = find_helper(helper);
  if (!executable) return executable.error();
  HiddenFd their_line;
  if (!make_socket_pair(line_, their_line)) return "no socket could be made: " + errno_text(errno);
  HiddenFd their_life;
  HiddenFd their_ends;
  if (!make_pipe(their_life, lifeline_) || !make_pipe(ends_, their_ends)) {
    take_watched();
    lifeline_.reset();
    return "no pipe could be made: " + errno_text(errno);
  }
  const Fd high_line = high_copy(their_line.get());
  const Fd high_life = high_copy(their_life.get());
  const Fd high_ends = high_copy(their_ends.get());
  if (const int error = spawn_supervisor(*executable, high_line.get(), high_life.get(), high_ends.get(), pid_);
      error != 0) {
    take_watched();
    lifeline_.reset();
    return "the process supervisor could not be started from " + *executable + ": " + errno_text(error);
  }
  fcntl(ends_.get(), F_SETFL, O_NONBLOCK);
  owner_ = getpid();
  process_ = Fd(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  frames_ = {};
  outgoing_ = {};
  containment_ = Containment::automatic;
  send(*write_json({{"containment", name_of(containment)}}));
  return {};
}

bool SupervisorLink::send(std::string_view text, const std::vector<int>& fds) {
  return outgoing_.send(line_.get(), make_frame(text), fds);
}

bool SupervisorLink::prepare() {
  if (std::ranges::any_of(places_, [](const Place& place) { return place.job == 0; })) return true;
  Place place{.number = ++last_place_};
  HiddenFd theirs;
  if (!make_socket_pair(place.line, theirs)) return false;
  if (!send(*write_json({{"place", place.number}}), {theirs.get()})) return false;
  places_.push_back(std::move(place));
  return true;
}

bool SupervisorLink::give(std::uint64_t job, const std::string& request, const std::vector<int>& fds) {
  const auto place = std::ranges::find(places_, std::uint64_t{0}, &Place::job);
  HiddenFd file;
  const std::string frame = frame_of(request, file);
  if (frame.empty()) return false;
  std::vector<int> sent_fds = fds;
  if (file) sent_fds.push_back(file.get());
  const ssize_t sent = send_some(place->line.get(), frame, sent_fds, MSG_DONTWAIT);
  if (sent == static_cast<ssize_t>(frame.size())) {
    place->job = job;
    return true;
  }
  // Its guard has ended, or ignores a part of a request when the line is closed.
  const int error = sent < 0 ? errno : EPIPE;
  places_.erase(place);
  errno = error;
  return false;
}

bool SupervisorLink::stop(std::uint64_t job, std::chrono::milliseconds grace) {
  const auto place = std::ranges::find(places_, job, &Place::job);
  if (place == places_.end()) return true;
  place->is_stopping = true;
  return send(*write_json(stop_message(place->number, grace)));
}

std::uint64_t SupervisorLink::lose_place(std::uint64_t number) {
  const auto place = std::ranges::find(places_, number, &Place::number);
  if (place == places_.end()) return 0;
  const std::uint64_t job = place->job;
  places_.erase(place);
  return job;
}

void SupervisorLink::job_ended(std::uint64_t job, bool waits) {
  const auto place = std::ranges::find(places_, job, &Place::job);
  if (place == places_.end()) return;
  place->job = 0;
  if (!waits || place->is_stopping) {
    places_.erase(place);
  } else if (std::ranges::count(places_, std::uint64_t{0}, &Place::job) > kMaxWaiting) {
    // The last one may not have a guard yet.
    const auto last = std::ranges::find(places_.rbegin(), places_.rend(), std::uint64_t{0}, &Place::job);
    places_.erase(std::next(last).base());
  }
}

bool SupervisorLink::receive(std::vector<Json>& messages) {
  std::array<char, 65536> buffer;
  ssize_t got = 0;
  while ((got = recv(line_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT)) > 0) {
    frames_.feed({buffer.data(), static_cast<std::size_t>(got)});
    while (const auto frame = frames_.next(kMaxReportBytes)) {
      auto message = parse_json(*frame);
      if (!message) continue;
      if (message->contains("chosen")) {
        containment_ = containment_named((*message)["chosen"].get<std::string>());
        cgroup_ = message->at("cgroup").get<std::string>();
      } else {
        messages.push_back(*std::move(message));
      }
    }
  }
  return got < 0 && (errno == EAGAIN || errno == EINTR);
}

std::vector<std::uint64_t> SupervisorLink::receive_ends() {
  std::vector<std::uint64_t> jobs;
  std::uint64_t job = 0;
  while (read(ends_.get(), &job, sizeof job) == sizeof job) jobs.push_back(job);
  return jobs;
}

bool SupervisorLink::is_owner() const { return pid_ > 0 && owner_ == getpid(); }

bool SupervisorLink::is_stopped() const {
  siginfo_t facts{};
  return pid_ > 0 && waitid(P_PID, static_cast<id_t>(pid_), &facts, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
         facts.si_pid == pid_;
}

bool SupervisorLink::has_ended(int milliseconds) const {
  if (process_) {
    pollfd watched{process_.get(), POLLIN, 0};
    return poll(&watched, 1, milliseconds) > 0;
  }
  siginfo_t facts{};
  if (waitid(P_PID, static_cast<id_t>(pid_), &facts, WEXITED | WNOHANG | WNOWAIT) != 0 || facts.si_pid == pid_) {
    return true;
  }
  poll(nullptr, 0, milliseconds);
  return false;
}

void SupervisorLink::signal(int number) const {
  // The id may belong to another process if the program has reaped its children itself.
  if (process_) {
    syscall(SYS_pidfd_send_signal, process_.get(), number, nullptr, 0);
  } else {
    kill(pid_, number);
  }
}

void SupervisorLink::reap() {
  while (pid_ > 0 && waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  process_.reset();
}

bool SupervisorLink::stop_process() const {
  const auto end = std::chrono::steady_clock::now() + kSupervisorStopTime;
  signal(SIGSTOP);
  while (!has_ended(0) && std::chrono::steady_clock::now() < end) {
    if (is_stopped()) return true;
    poll(nullptr, 0, 1);
  }
  return false;
}

void SupervisorLink::end_guards() const {
  const std::vector<pid_t> guards = children_of(pid_);
  std::vector<Fd> watches;
  watches.reserve(guards.size());
  for (const pid_t guard : guards) watches.emplace_back(static_cast<int>(syscall(SYS_pidfd_open, guard, 0)));
  run_sweep(
      {.roots = [pid = pid_] { return children_of(pid); }, .roots_keep_ids = true, .limit = std::chrono::seconds(2)});
  // If a tool kills the supervisor meanwhile, its guards are no longer found, but may have been stopped. They end their
  // jobs as soon as they run again, because the lifeline is closed.
  for (const Fd& watch : watches) syscall(SYS_pidfd_send_signal, watch.get(), SIGCONT, nullptr, 0);
}

WatchedFds SupervisorLink::take_watched() {
  places_.clear();
  return {.line = std::move(line_), .ends = std::move(ends_)};
}

WatchedFds SupervisorLink::end() {
  lifeline_.reset();
  if (!is_owner()) return take_watched();
  if (stop_process() && containment_ != Containment::pid_namespace) end_guards();
  signal(SIGKILL);
  reap();
  if (!cgroup_.empty()) {
    kill_cgroup(cgroup_);
    remove_cgroup(std::exchange(cgroup_, {}));
  }
  return take_watched();
}

void SupervisorLink::close() {
  // A child of a bare clone() still has copies of the descriptors.
  if (line_ && is_owner()) shutdown(line_.get(), SHUT_RDWR);
  take_watched();
  lifeline_.reset();
  if (!is_owner()) return;
  const auto end = std::chrono::steady_clock::now() + kCloseTime;
  while (!has_ended(20)) {
    if (is_stopped() || std::chrono::steady_clock::now() > end) {
      this->end();
      return;
    }
  }
  reap();
}

}  // namespace allm
