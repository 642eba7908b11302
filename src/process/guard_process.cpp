#include "process/guard_process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "data/read_file.hpp"
#include "process/frames.hpp"
#include "process/launch.hpp"
#include "process/sweep.hpp"

namespace allm {
namespace {

using GuardClock = std::chrono::steady_clock;
constexpr std::size_t kMaxJobBytes = std::size_t{64} << 20U;
// How long the report waits for processes that do not end although they were killed: those that wait for a disk.
constexpr std::chrono::seconds kEndTime{5};
// The guard looks after them then: so often, in milliseconds, and for so long.
constexpr int kLatePause = 1000;
constexpr std::chrono::milliseconds kLateEndTime{200};

void close_range_or_each(unsigned first, unsigned last) {
  if (first > last || syscall(SYS_close_range, first, last, 0) == 0) return;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  for (unsigned fd = first; fd <= last && fd < limit.rlim_cur; ++fd) close(static_cast<int>(fd));
}

bool has_children() {
  siginfo_t ignored{};
  return waitid(P_ALL, 0, &ignored, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
}

// In the list of processes, a guard is not to be taken for its supervisor.
void set_process_name() {
  constexpr std::string_view kName = "allm-guard";
  prctl(PR_SET_NAME, kName.data());
  char* const shown = program_invocation_name;
  const std::size_t size = std::strlen(shown);
  std::fill_n(shown, size, '\0');
  std::copy_n(kName.data(), std::min(size, kName.size()), shown);
}

}  // namespace

GuardProcess::GuardProcess(const GuardPlan& plan, const IdMaps& maps, int line, JobCgroup cgroup)
    : plan_(plan), maps_(maps), line_(line), cgroup_(std::move(cgroup)) {}

void GuardProcess::run(GuardJob* job) {
  // A namespace ends with its guard. Otherwise the guard has work to do when the supervisor has ended, and must do it
  // also if a tool has stopped it.
  prctl(PR_SET_PDEATHSIG, plan_.containment.kind == Containment::pid_namespace ? SIGKILL : SIGCONT);
  close_inherited(job);
  set_up();
  if (job != nullptr) serve(*job);
  while (true) {
    GuardJob received = receive_job();
    serve(received);
  }
}

void GuardProcess::serve(GuardJob& job) {
  start(job);
  while (tool_ != 0) turn();
  if (has_children()) {
    end_tree(kEndTime);
    leave();
  }
  tell_program();
  report(true);
}

void GuardProcess::close_inherited(const GuardJob* job) const {
  std::vector<int> kept = {line_, plan_.lifeline, plan_.program, plan_.ends, cgroup_.members.get(), cgroup_.kill.get()};
  if (job != nullptr) {
    for (const Fd& fd : job->fds) kept.push_back(fd.get());
    kept.push_back(job->error_output.get());
  }
  std::ranges::sort(kept);
  unsigned first = STDERR_FILENO + 1;
  for (const int fd : kept) {
    if (fd < static_cast<int>(first)) continue;
    close_range_or_each(first, static_cast<unsigned>(fd) - 1);
    first = static_cast<unsigned>(fd) + 1;
  }
  close_range_or_each(first, ~0U);
}

void GuardProcess::set_up() {
  set_process_name();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (plan_.containment.kind == Containment::pid_namespace) {
    bool own_proc = false;
    if (const int error = set_up_pid_namespace(plan_.containment.namespaces.with_user_namespace, maps_, own_proc);
        error != 0) {
      failure_ = "its PID namespace could not be set up: " + errno_text(error);
    }
  }
  prctl(PR_SET_DUMPABLE, 0);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  child_signals_ = Fd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  sigaddset(&signals, SIGPIPE);  // the program may have ended when it is told
  sigprocmask(SIG_SETMASK, &signals, nullptr);
}

GuardJob GuardProcess::receive_job() {
  GuardJob job;
  FrameReader frames;
  std::array<char, 65536> buffer;  // filling it with zeros would take microseconds
  std::array<pollfd, 3> watched{{{line_, POLLIN, 0}, {plan_.lifeline, POLLIN, 0}, {plan_.program, POLLIN, 0}}};
  while (true) {
    if (poll(watched.data(), watched.size(), -1) < 0) continue;
    is_alone_ = watched[1].revents != 0 || watched[2].revents != 0;
    const ssize_t got = is_alone_ ? 0 : receive_some(line_, buffer.data(), buffer.size(), job.fds);
    if (got <= 0) {
      is_alone_ = true;
      remove_cgroups();
      _exit(0);
    }
    frames.feed({buffer.data(), static_cast<std::size_t>(got)});
    const auto frame = frames.next(kMaxJobBytes);
    if (!frame) continue;
    const auto message = parse_json(*frame);
    if (!message || job.fds.empty()) _exit(1);
    job.request = job_request_from(*message);
    job.error_output = std::move(job.fds.back());
    job.fds.pop_back();
    return job;
  }
}

void GuardProcess::start(GuardJob& job) {
  end_ = {.id = job.request.id, .error = failure_};
  needs_error_output_ = job.request.needs_error_output;
  is_told_ = false;
  if (!failure_.empty()) leave();
  LaunchFds fds{.moves = {}, .error_output = job.error_output.get(), .cgroup = cgroup_.members.get()};
  for (std::size_t i = 0; i < std::min(job.fds.size(), job.request.fds.size()); ++i) {
    fds.moves.emplace_back(job.fds[i].get(), job.request.fds[i]);
  }
  const auto pid = launch(job.request, fds);
  // The tool's pipes must not stay open here.
  job.error_output.reset();
  job.fds.clear();
  if (!pid) {
    end_.error = pid.error();
    leave();
  }
  tool_ = *pid;
}

void GuardProcess::turn() {
  std::array<pollfd, 4> watched{
      {{line_, POLLIN, 0}, {plan_.lifeline, POLLIN, 0}, {plan_.program, POLLIN, 0}, {child_signals_.get(), POLLIN, 0}}};
  if (poll(watched.data(), watched.size(), -1) < 0) return;
  reap();
  is_alone_ = watched[1].revents != 0 || watched[2].revents != 0;
  if (is_alone_) {
    end_tree(kEndTime);
    leave();
  }
  if (tool_ != 0 && watched[0].revents != 0) obey();
}

void GuardProcess::obey() {
  char order = 0;
  const ssize_t got = recv(line_, &order, 1, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got == 1 && order == kTerminateJob) {
    kill(-tool_, SIGTERM);
    return;
  }
  is_alone_ = got != 1;
  end_tree(kEndTime);
  leave();
}

void GuardProcess::reap() {
  signalfd_siginfo ignored{};
  while (read(child_signals_.get(), &ignored, sizeof ignored) > 0) {
  }
  int status = 0;
  pid_t pid = 0;
  while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
    if (pid != tool_) continue;
    tool_ = 0;
    if (WIFSIGNALED(status)) {
      end_.signal = WTERMSIG(status);
    } else {
      end_.status = WEXITSTATUS(status);
    }
  }
}

void GuardProcess::end_tree(std::chrono::milliseconds limit) {
  if (!has_children()) return;
  if (plan_.containment.kind == Containment::pid_namespace) return end_namespace();
  if (cgroup_.kill) [[maybe_unused]]
    const ssize_t written = write(cgroup_.kill.get(), "1", 1);
  // A process that replaces itself all the time may be missed by a sweep. It always has an ancestor among the children
  // of this process, so only the lack of children proves that none is left.
  const auto end = GuardClock::now() + limit;
  std::string left;
  do {
    left = run_sweep({.roots = own_children, .reap = [this] { reap(); }, .roots_keep_ids = true, .limit = limit});
    reap();
  } while (has_children() && GuardClock::now() < end);
  if (!left.empty()) end_.error_output = "allm: " + left;
}

void GuardProcess::end_namespace() {
  const auto end = GuardClock::now() + kEndTime;
  while (GuardClock::now() < end) {
    kill(-1, SIGKILL);  // all of the namespace but this process
    reap();
    if (!has_children()) return;
    pollfd children{child_signals_.get(), POLLIN, 0};
    poll(&children, 1, 10);
  }
  end_.error_output = "allm: processes that were killed have not ended";
}

void GuardProcess::tell_program() {
  if (needs_error_output_ || end_.status != 0) return;
  // All of it or nothing, because the pipe does not block and the size is less than PIPE_BUF.
  is_told_ = write(plan_.ends, &end_.id, sizeof end_.id) == sizeof end_.id;
}

void GuardProcess::report(bool waits) {
  if (end_.error.empty() && !end_.signal && !end_.status) end_.signal = SIGKILL;
  Json message = to_message(end_);
  message[kWaits] = waits;
  message[kIsTold] = is_told_;
  if (const auto text = write_json(message)) send_all(line_, make_frame(*text));
}

void GuardProcess::leave() {
  report(false);
  // A namespace ends with its guard. Any other process that is left must not lose the guard, because nobody else may
  // know whose it is.
  while (plan_.containment.kind != Containment::pid_namespace && has_killable_child()) {
    pollfd children{child_signals_.get(), POLLIN, 0};
    poll(&children, 1, kLatePause);
    end_tree(kLateEndTime);
  }
  remove_cgroups();
  _exit(0);
}

void GuardProcess::remove_cgroups() const {
  if (cgroup_.folder.empty()) return;
  rmdir(cgroup_.folder.c_str());
  // The last guard removes what the supervisor cannot remove any more.
  if (is_alone_) rmdir(plan_.cgroup.c_str());
}

}  // namespace allm
