#include "process/supervisor_process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sstream>
#include <string_view>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "data/read_file.hpp"
#include "data/utf8_repair.hpp"
#include "process/launch.hpp"

namespace allm {
namespace {

// How much of a job's error output is kept: usually its last lines.
constexpr std::size_t kTailBytes = 4096;
constexpr std::size_t kMaxProcBytes = std::size_t{8} << 20U;
constexpr std::size_t kMaxRequestBytes = std::size_t{64} << 20U;

Fd watch_process(pid_t pid) { return Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))); }

// Reads what is available, up to a limit per turn so that endless output cannot block the loop.
void drain(int fd, std::string& tail) {
  constexpr int kMostReads = 64;
  std::array<char, 16384> buffer{};
  for (int i = 0; i < kMostReads; ++i) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got <= 0) return;
    tail.append(buffer.data(), static_cast<std::size_t>(got));
    if (tail.size() > 2 * kTailBytes) tail.erase(0, tail.size() - kTailBytes);
  }
}

std::string last_lines(std::string tail) {
  if (tail.size() > kTailBytes) tail.erase(0, tail.size() - kTailBytes);
  while (!tail.empty() && tail.back() == '\n') tail.pop_back();
  return repair_utf8(tail);
}

// The id of the job that started a process, from the process's environment; 0 if the variable is missing.
std::uint64_t job_of(pid_t pid) {
  const std::string environment = read_file("/proc/" + std::to_string(pid) + "/environ", kMaxProcBytes).value_or("");
  const std::string name = std::string(kJobVariable) + "=";
  std::size_t at = 0;
  while (at < environment.size()) {
    const std::size_t end = std::min(environment.find('\0', at), environment.size());
    const std::string_view variable = std::string_view(environment).substr(at, end - at);
    if (variable.starts_with(name)) return std::strtoull(variable.data() + name.size(), nullptr, 10);
    at = end + 1;
  }
  return 0;
}

std::vector<pid_t> children() {
  std::vector<pid_t> pids;
  std::istringstream list(read_file("/proc/thread-self/children", kMaxProcBytes).value_or(""));
  for (pid_t pid = 0; list >> pid;) pids.push_back(pid);
  return pids;
}

}  // namespace

SupervisorProcess::SupervisorProcess(int line, pid_t program) : line_(line), program_(program) {
  fcntl(line_, F_SETFD, FD_CLOEXEC);
  fcntl(line_, F_SETFL, O_NONBLOCK);
  prctl(PR_SET_NAME, "allm-supervisor");
  // No process of this user can open the supervisor's memory or environment.
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  // Orphans of jobs are reparented to this process.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  child_signals_ = Fd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  program_watch_ = watch_process(program_);
}

int SupervisorProcess::run() {
  // If the program died before the pidfd was opened, this process has another parent by now.
  if (getppid() == program_) {
    while (turn()) {
    }
  }
  kill_everything();
  return 0;
}

bool SupervisorProcess::turn() {
  std::vector<pollfd> watched = {
      {line_, static_cast<short>(outgoing_.empty() ? POLLIN : POLLIN | POLLOUT), 0},
      {child_signals_.get(), POLLIN, 0},
      {program_watch_.get(), POLLIN, 0},
  };
  const std::size_t first_job = watched.size();
  std::vector<Job*> listening;
  for (auto& [id, job] : jobs_) {
    if (!job.error_output) continue;
    watched.push_back({job.error_output.get(), POLLIN, 0});
    listening.push_back(&job);
  }
  if (poll(watched.data(), watched.size(), milliseconds_to_next_kill()) < 0 && errno != EINTR) return false;
  for (std::size_t i = 0; i < listening.size(); ++i) {
    const short events = watched[first_job + i].revents;
    if ((events & POLLIN) != 0) {
      drain(listening[i]->error_output.get(), listening[i]->tail);
    } else if (events != 0) {
      listening[i]->error_output.reset();
    }
  }
  if (watched[1].revents != 0) reap();
  kill_overdue();
  if (watched[2].revents != 0) return false;
  if ((watched[0].revents & POLLOUT) != 0) {
    const ssize_t sent = send(line_, outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL);
    if (sent > 0) outgoing_.erase(0, static_cast<std::size_t>(sent));
  }
  return (watched[0].revents & ~POLLOUT) == 0 || receive();
}

bool SupervisorProcess::receive() {
  std::array<char, 65536> buffer{};
  const ssize_t got = receive_some(line_, buffer.data(), buffer.size(), received_fds_);
  if (got < 0) return errno == EAGAIN;
  if (got == 0) return false;
  frames_.feed({buffer.data(), static_cast<std::size_t>(got)});
  while (const auto frame = frames_.next(kMaxRequestBytes)) {
    if (const auto message = parse_json(*frame)) handle(*message);
  }
  return true;
}

void SupervisorProcess::handle(const Json& message) {
  if (message.contains("start")) {
    start(job_request_from(message));
  } else {
    stop(message.at("stop").get<std::uint64_t>(),
         std::chrono::milliseconds(message.at("grace_ms").get<std::int64_t>()));
  }
}

void SupervisorProcess::start(const JobRequest& request) {
  const std::size_t count = std::min(request.fds.size(), received_fds_.size());
  std::vector<Fd> fds(std::make_move_iterator(received_fds_.begin()),
                      std::make_move_iterator(received_fds_.begin() + static_cast<std::ptrdiff_t>(count)));
  received_fds_.erase(received_fds_.begin(), received_fds_.begin() + static_cast<std::ptrdiff_t>(count));
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return report({.id = request.id, .error = "pipe failed: " + errno_text(errno)});
  }
  Job job{.error_output = Fd(ends[0])};
  const Fd their_end(ends[1]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  LaunchFds launch_fds{.error_output = ends[1]};
  for (std::size_t i = 0; i < count; ++i) launch_fds.moves.emplace_back(fds[i].get(), request.fds[i]);
  const auto pid = launch(request, launch_fds);
  if (!pid) return report({.id = request.id, .error = pid.error()});
  job.pid = *pid;
  jobs_.emplace(request.id, std::move(job));
}

void SupervisorProcess::stop(std::uint64_t id, std::chrono::milliseconds grace) {
  const auto job = jobs_.find(id);
  if (job == jobs_.end()) return;
  const auto now = Clock::now();
  if (grace.count() > 0 && !job->second.kill_at) kill(-job->second.pid, SIGTERM);
  const auto time = now + std::max(grace, std::chrono::milliseconds(0));
  job->second.kill_at = std::min(job->second.kill_at.value_or(time), time);
  kill_overdue();
}

void SupervisorProcess::kill_overdue() {
  const auto now = Clock::now();
  for (auto& [id, job] : jobs_) {
    if (job.kill_at && *job.kill_at <= now) kill(-job.pid, SIGKILL);
  }
}

int SupervisorProcess::milliseconds_to_next_kill() const {
  std::optional<Clock::time_point> next;
  for (const auto& [id, job] : jobs_) {
    if (job.kill_at && (!next || *job.kill_at < *next)) next = job.kill_at;
  }
  if (!next) return -1;
  // Already killed: check again soon, in case the kernel needs time to end the process.
  constexpr std::int64_t kAgain = 10;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - Clock::now()).count();
  return static_cast<int>(left > 0 ? std::min<std::int64_t>(left, 60'000) : kAgain);
}

void SupervisorProcess::reap() {
  signalfd_siginfo ignored{};
  while (read(child_signals_.get(), &ignored, sizeof ignored) > 0) {
  }
  bool left_behind = false;
  while (true) {
    siginfo_t facts{};
    // The process is not reaped yet, so its id cannot be reused while its group is killed.
    if (waitid(P_ALL, 0, &facts, WEXITED | WNOHANG | WNOWAIT) != 0 || facts.si_pid == 0) break;
    const auto job = std::ranges::find_if(jobs_, [&](const auto& entry) { return entry.second.pid == facts.si_pid; });
    if (job != jobs_.end()) kill(-facts.si_pid, SIGKILL);
    int wait_status = 0;
    waitpid(facts.si_pid, &wait_status, 0);
    if (job != jobs_.end()) end_job(job, wait_status);
    left_behind = true;
  }
  if (left_behind) kill_strays();
}

void SupervisorProcess::end_job(std::map<std::uint64_t, Job>::iterator job, int wait_status) {
  JobEnd end{.id = job->first};
  if (WIFSIGNALED(wait_status)) {
    end.signal = WTERMSIG(wait_status);
  } else {
    end.status = WEXITSTATUS(wait_status);
  }
  if (job->second.error_output) drain(job->second.error_output.get(), job->second.tail);
  end.error_output = last_lines(std::move(job->second.tail));
  jobs_.erase(job);
  report(end);
}

void SupervisorProcess::kill_strays() {
  for (const pid_t pid : children()) {
    if (std::ranges::any_of(jobs_, [&](const auto& entry) { return entry.second.pid == pid; })) continue;
    if (!jobs_.contains(job_of(pid))) kill(pid, SIGKILL);
  }
}

void SupervisorProcess::kill_everything() {
  for (const auto& [id, job] : jobs_) kill(-job.pid, SIGKILL);
  jobs_.clear();
  // Each process that dies may leave orphans to this one.
  while (true) {
    const std::vector<pid_t> left = children();
    for (const pid_t pid : left) kill(pid, SIGKILL);
    if (left.empty() || (waitpid(-1, nullptr, 0) < 0 && errno == ECHILD)) return;
  }
}

void SupervisorProcess::report(const JobEnd& end) {
  const auto text = write_json(to_message(end));
  if (!text) return;
  outgoing_ += make_frame(*text);
  const ssize_t sent = send(line_, outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL);
  if (sent > 0) outgoing_.erase(0, static_cast<std::size_t>(sent));
}

}  // namespace allm
