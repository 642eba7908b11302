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
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "data/read_file.hpp"
#include "data/utf8_repair.hpp"
#include "process/frames.hpp"
#include "process/launch.hpp"
#include "process/sweep.hpp"

namespace allm {
namespace {

using GuardClock = std::chrono::steady_clock;
// How much of a job's error output is kept: usually its last lines.
constexpr std::size_t kTailBytes = 4096;
constexpr std::size_t kMaxJobBytes = std::size_t{64} << 20U;
// How long the report waits for processes that do not end although they were killed: those that wait for a disk.
constexpr std::chrono::seconds kEndTime{5};
// The guard looks after them then: so often, in milliseconds, and for so long.
constexpr int kLatePause = 1'000;
constexpr int kLongestLatePause = 30'000;
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

std::string last_lines(std::string tail) {
  if (tail.size() > kTailBytes) tail.erase(0, tail.size() - kTailBytes);
  while (!tail.empty() && tail.back() == '\n') tail.pop_back();
  return repair_utf8(tail);
}

// The contents of a memory file, which is the last descriptor.
std::string take_file(std::vector<Fd>& fds) {
  if (fds.empty()) return {};
  const Fd file = std::move(fds.back());
  fds.pop_back();
  struct stat facts{};
  if (fstat(file.get(), &facts) != 0 || facts.st_size < 0 || static_cast<std::size_t>(facts.st_size) > kMaxJobBytes) {
    return {};
  }
  std::string text(static_cast<std::size_t>(facts.st_size), '\0');
  std::size_t at = 0;
  while (at < text.size()) {
    const ssize_t got = pread(file.get(), text.data() + at, text.size() - at, static_cast<off_t>(at));
    if (got <= 0) return {};
    at += static_cast<std::size_t>(got);
  }
  return text;
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

GuardProcess::GuardProcess(const GuardPlan& plan, const IdMaps& maps, int line, int place, JobCgroup cgroup)
    : plan_(plan), maps_(maps), line_(line), place_(place), cgroup_(std::move(cgroup)) {}

void GuardProcess::run() {
  // A namespace ends with its guard. Otherwise the guard has work to do when the supervisor has ended, and must do it
  // also if a tool has stopped it.
  prctl(PR_SET_PDEATHSIG, plan_.containment.kind == Containment::pid_namespace ? SIGKILL : SIGCONT);
  close_inherited();
  set_up();
  while (true) {
    get_ready();
    Job job = receive_job();
    serve(job);
  }
}

void GuardProcess::serve(Job& job) {
  start(job);
  while (tool_ != 0) turn();
  if (has_children()) {
    end_tree(kEndTime);
    leave();
  }
  if (!tell_program()) report(true);
}

void GuardProcess::close_inherited() const {
  std::vector<int> kept = {
      line_, place_, plan_.lifeline, plan_.program, plan_.ends, cgroup_.members.get(), cgroup_.kill.get()};
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

void GuardProcess::get_ready() {
  end_ = {};
  tail_.clear();
  // A tool may have given the old one to a process that is not its own.
  std::array<int, 2> output{-1, -1};
  if (pipe2(output.data(), O_CLOEXEC) != 0) failure_ = "no pipe could be made: " + errno_text(errno);
  error_output_ = Fd(output[0]);
  error_writer_ = Fd(output[1]);
  fcntl(output[0], F_SETFL, O_NONBLOCK);
}

GuardProcess::Job GuardProcess::receive_job() {
  Job job;
  FrameReader frames;
  std::array<char, 65536> buffer;  // filling it with zeros would take microseconds
  std::array<pollfd, 4> watched{
      {{line_, POLLIN, 0}, {plan_.lifeline, POLLIN, 0}, {plan_.program, POLLIN, 0}, {place_, POLLIN, 0}}};
  while (true) {
    if (poll(watched.data(), watched.size(), -1) < 0) continue;
    is_alone_ = (watched[0].revents & POLLHUP) != 0 || watched[1].revents != 0 || watched[2].revents != 0;
    // An order without a tool is for a job that has not been started yet, or has ended; the program uses this guard no
    // more. The same holds if it has closed the place.
    const bool is_over = is_alone_ || watched[0].revents != 0;
    const ssize_t got = is_over ? 0 : receive_some(place_, buffer.data(), buffer.size(), job.fds);
    if (got <= 0) {
      remove_cgroups();
      _exit(0);
    }
    frames.feed({buffer.data(), static_cast<std::size_t>(got)});
    const auto frame = frames.next(kMaxJobBytes);
    if (!frame) continue;
    const auto message = parse_json(frame->empty() ? take_file(job.fds) : *frame);
    if (!message) _exit(1);
    job.request = job_request_from(*message);
    return job;
  }
}

void GuardProcess::start(Job& job) {
  end_ = {.id = job.request.id, .error = failure_};
  needs_error_output_ = job.request.needs_error_output;
  if (!failure_.empty()) leave();
  LaunchFds fds{.moves = {}, .error_output = error_writer_.get(), .cgroup = cgroup_.members.get()};
  for (std::size_t i = 0; i < std::min(job.fds.size(), job.request.fds.size()); ++i) {
    fds.moves.emplace_back(job.fds[i].get(), job.request.fds[i]);
  }
  const auto pid = launch(job.request, fds);
  // The tool's pipes must not stay open here.
  job.fds.clear();
  if (!pid) {
    end_.error = pid.error();
    leave();
  }
  tool_ = *pid;
}

void GuardProcess::turn() {
  std::array<pollfd, 5> watched{{{line_, POLLIN, 0},
                                 {plan_.lifeline, POLLIN, 0},
                                 {plan_.program, POLLIN, 0},
                                 {child_signals_.get(), POLLIN, 0},
                                 {error_output_.get(), POLLIN, 0}}};
  if (poll(watched.data(), watched.size(), -1) < 0) return;
  if (watched[4].revents != 0) drain_error_output();
  if (watched[3].revents != 0) reap();
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

bool GuardProcess::tell_program() {
  if (needs_error_output_ || end_.status != 0) return false;
  // All of it or nothing, because the pipe does not block and the size is less than PIPE_BUF.
  return write(plan_.ends, &end_.id, sizeof end_.id) == sizeof end_.id;
}

// Up to a limit, so that endless output cannot block the loop.
void GuardProcess::drain_error_output() {
  constexpr int kMostReads = 64;
  std::array<char, 16384> buffer;
  for (int i = 0; i < kMostReads; ++i) {
    const ssize_t got = read(error_output_.get(), buffer.data(), buffer.size());
    if (got <= 0) return;
    tail_.append(buffer.data(), static_cast<std::size_t>(got));
    if (tail_.size() > 2 * kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
  }
}

void GuardProcess::report(bool waits) {
  if (end_.error.empty() && !end_.signal && !end_.status) end_.signal = SIGKILL;
  drain_error_output();
  const std::string notes = std::exchange(end_.error_output, last_lines(std::move(tail_)));
  if (!notes.empty()) end_.error_output += (end_.error_output.empty() ? "" : "\n") + notes;
  Json message = to_message(end_);
  message[kWaits] = waits;
  if (const auto text = write_json(message)) send_all(line_, make_frame(*text));
}

void GuardProcess::leave() {
  report(false);
  // A namespace ends with its guard. Any other process that is left must not lose the guard, because nobody else may
  // know whose it is.
  for (int pause = kLatePause; plan_.containment.kind != Containment::pid_namespace && has_killable_child();
       pause = std::min(2 * pause, kLongestLatePause)) {
    pollfd children{child_signals_.get(), POLLIN, 0};
    poll(&children, 1, pause);
    end_tree(kLateEndTime);
  }
  std::array<pollfd, 2> others{{{plan_.lifeline, POLLIN, 0}, {plan_.program, POLLIN, 0}}};
  if (poll(others.data(), others.size(), 0) > 0) is_alone_ = true;
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
