#include "process/supervisor_process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
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
#include "process/call_filter.hpp"
#include "process/cgroup.hpp"
#include "process/sweep.hpp"

namespace allm {
namespace {

// How much of a job's error output is kept: usually its last lines.
constexpr std::size_t kTailBytes = 4096;
// More than a request whose size was checked: each byte takes at most six in JSON.
constexpr std::size_t kMaxRequestBytes = std::size_t{64} << 20U;
// A job that fits into the socket's buffer is sent to the guard that waits; others get a guard of their own.
constexpr std::size_t kMaxSpareBytes = std::size_t{64} << 10U;
// After the start of a job. The guard of a shorter job becomes the next spare, without a fork.
constexpr std::chrono::milliseconds kSpareDelay{5};
// How long a guard may take to end its job before it is killed.
constexpr std::chrono::seconds kGuardTime{6};
// How long other jobs wait while the processes of a guard that was killed are ended, and how long each time that one of
// them turns up later. A shorter time would not be enough to stop processes that replace themselves all the time.
constexpr std::chrono::seconds kStrayTime{2};
constexpr std::chrono::milliseconds kLateStrayTime{200};
// How often a supervisor whose program has ended looks after those that wait for a disk, in milliseconds.
constexpr int kStrayPause = 1000;

Fd watch_process(pid_t pid) { return Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))); }

// Reads what is available, up to a limit per turn so that endless output cannot block the loop.
void drain(int fd, std::string& tail) {
  constexpr int kMostReads = 64;
  std::array<char, 16384> buffer;
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

}  // namespace

SupervisorProcess::SupervisorProcess(int line, int lifeline, int ends, pid_t program) : line_(line), program_(program) {
  for (const int fd : {line, lifeline, ends}) fcntl(fd, F_SETFD, FD_CLOEXEC);
  fcntl(line_, F_SETFL, O_NONBLOCK);
  fcntl(ends, F_SETFL, O_NONBLOCK);
  prctl(PR_SET_NAME, "allm-supervisor");
  // No process of the same user may look into this one or take its descriptors.
  prctl(PR_SET_DUMPABLE, 0);
  // If a tool has stopped this process, it goes on when the program ends, and ends then. (The signal also comes when
  // the thread that started this process ends, and has no effect.)
  prctl(PR_SET_PDEATHSIG, SIGCONT);
  // Orphans of guards that were killed are reparented to this process.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  child_signals_ = Fd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  program_watch_ = watch_process(program_);
  plan_.lifeline = lifeline;
  plan_.ends = ends;
  plan_.program = program_watch_.get();
  share_call_filters();
}

int SupervisorProcess::run() {
  // If the program died before the pidfd was opened, this process has another parent by now.
  if (getppid() == program_) {
    while (turn()) {
    }
  }
  end_everything();
  if (!plan_.cgroup.empty()) {
    kill_cgroup(plan_.cgroup);
    remove_cgroup(plan_.cgroup);
  }
  return 0;
}

bool SupervisorProcess::turn() {
  std::vector<pollfd> watched = {
      {line_, static_cast<short>(outgoing_.empty() ? POLLIN : POLLIN | POLLOUT), 0},
      {child_signals_.get(), POLLIN, 0},
      {program_watch_.get(), POLLIN, 0},
  };
  const std::size_t first_job = watched.size();
  std::vector<std::uint64_t> ids;
  for (auto& [id, job] : jobs_) {
    watched.push_back({job.guard.line.get(), POLLIN, 0});
    watched.push_back({job.error_output.get(), POLLIN, 0});
    ids.push_back(id);
  }
  if (poll(watched.data(), watched.size(), milliseconds_to_next_event()) < 0 && errno != EINTR) return false;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto job = jobs_.find(ids[i]);
    const short output = watched[first_job + 2 * i + 1].revents;
    if (output != 0) drain(job->second.error_output.get(), job->second.tail);
    if (watched[first_job + 2 * i].revents != 0) take_report(job);
  }
  if (watched[1].revents != 0) reap();
  kill_overdue();
  if (spare_at_ && *spare_at_ <= Clock::now()) prepare_spare();
  if (watched[2].revents != 0) return false;
  if ((watched[0].revents & POLLOUT) != 0 && !outgoing_.flush(line_)) return false;
  return (watched[0].revents & ~POLLOUT) == 0 || receive();
}

bool SupervisorProcess::receive() {
  std::array<char, 65536> buffer;  // filling it with zeros would take microseconds
  const ssize_t got = receive_some(line_, buffer.data(), buffer.size(), received_fds_);
  if (got < 0) return errno == EAGAIN;
  if (got == 0) return false;
  frames_.feed({buffer.data(), static_cast<std::size_t>(got)});
  while (const auto frame = frames_.next(kMaxRequestBytes)) {
    if (const auto message = parse_json(*frame)) handle(*message, *frame);
  }
  // The program never sends such a frame; without an end it would wait for ever.
  return !frames_.exceeds(kMaxRequestBytes);
}

void SupervisorProcess::handle(const Json& message, const std::string& text) {
  if (message.contains("start")) {
    start(message, text);
  } else if (message.contains("ping")) {
    send({{"pong", message["ping"]}});
  } else if (message.contains("containment")) {
    contain(message["containment"].get<std::string>());
  } else {
    stop(message.at("stop").get<std::uint64_t>(),
         std::chrono::milliseconds(message.at("grace_ms").get<std::int64_t>()));
  }
}

void SupervisorProcess::contain(const std::string& kind) {
  const auto chosen = choose_containment(containment_named(kind));
  if (!chosen) {
    refusal_ = "RuntimeOptions::containment is " + kind + ", but " + chosen.error();
    return;
  }
  plan_.containment = *chosen;
  if (chosen->kind == Containment::cgroup) {
    auto made = make_supervisor_cgroup();
    if (made) {
      cgroup_ = *std::move(made);
    } else {
      refusal_ = made.error();
    }
    plan_.cgroup = cgroup_.folder;
  }
  send({{"chosen", name_of(chosen->kind)}, {"cgroup", plan_.cgroup}});
  prepare_spare();
}

void SupervisorProcess::prepare_spare_later() {
  if (!spare_ && !spare_at_) spare_at_ = Clock::now() + kSpareDelay;
}

void SupervisorProcess::prepare_spare() {
  spare_at_.reset();
  if (spare_) return;
  // Without one, the next job is told why there is no guard.
  if (auto guard = start_guard(plan_, nullptr)) spare_ = *std::move(guard);
}

void SupervisorProcess::start(const Json& message, const std::string& text) {
  GuardJob job{.request = job_request_from(message), .fds = {}};
  const std::uint64_t id = job.request.id;
  const auto count = static_cast<std::ptrdiff_t>(std::min(job.request.fds.size(), received_fds_.size()));
  job.fds.assign(std::make_move_iterator(received_fds_.begin()),
                 std::make_move_iterator(received_fds_.begin() + count));
  received_fds_.erase(received_fds_.begin(), received_fds_.begin() + count);
  if (!refusal_.empty()) return send(to_message(JobEnd{.id = id, .error = refusal_}));
  std::array<int, 2> output{};
  if (pipe2(output.data(), O_CLOEXEC) != 0) {
    return send(to_message(JobEnd{.id = id, .error = "no pipe could be made: " + errno_text(errno)}));
  }
  Fd our_output(output[0]);
  job.error_output = Fd(output[1]);
  fcntl(our_output.get(), F_SETFL, O_NONBLOCK);
  std::optional<Guard> guard = spare_with(text, job);
  if (!guard) {
    auto made = start_guard(plan_, &job);
    if (!made) return send(to_message(JobEnd{.id = id, .error = made.error()}));
    guard = *std::move(made);
  }
  jobs_.emplace(id, Job{.guard = *std::move(guard),
                        .error_output = std::move(our_output),
                        .error_writer = std::move(job.error_output)});
  prepare_spare_later();
}

std::optional<Guard> SupervisorProcess::spare_with(const std::string& text, const GuardJob& job) {
  if (!spare_ || text.size() > kMaxSpareBytes) return std::nullopt;
  std::vector<int> numbers;
  numbers.reserve(job.fds.size() + 1);
  for (const Fd& fd : job.fds) numbers.push_back(fd.get());
  numbers.push_back(job.error_output.get());
  SendQueue queue;
  if (!queue.send(spare_->line.get(), make_frame(text), numbers) || !queue.empty()) {
    // A tool has killed or stopped it, or its buffer is full.
    ::kill(spare_->pid, SIGKILL);
    spare_.reset();
    return std::nullopt;
  }
  return std::exchange(spare_, std::nullopt);
}

void SupervisorProcess::stop(std::uint64_t id, std::chrono::milliseconds grace) {
  const auto job = jobs_.find(id);
  if (job == jobs_.end() || job->second.is_killed) return;
  if (grace.count() > 0 && !job->second.kill_at) {
    ::send(job->second.guard.line.get(), &kTerminateJob, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  const auto time = Clock::now() + std::max(grace, std::chrono::milliseconds(0));
  job->second.kill_at = std::min(job->second.kill_at.value_or(time), time);
  kill_overdue();
}

void SupervisorProcess::kill_overdue() {
  const auto now = Clock::now();
  for (auto& [id, job] : jobs_) {
    if (job.kill_at && *job.kill_at <= now) kill(job);
  }
}

void SupervisorProcess::kill(Job& job) {
  const bool asked = std::exchange(job.is_killed, true);
  // A namespace ends with its guard, at once.
  if (asked || plan_.containment.kind == Containment::pid_namespace ||
      ::send(job.guard.line.get(), &kKillJob, 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1) {
    ::kill(job.guard.pid, SIGKILL);
    job.kill_at.reset();
    return;
  }
  job.kill_at = Clock::now() + kGuardTime;
}

int SupervisorProcess::milliseconds_to_next_event() const {
  std::optional<Clock::time_point> next = spare_at_;
  for (const auto& [id, job] : jobs_) {
    if (job.kill_at && (!next || *job.kill_at < *next)) next = job.kill_at;
  }
  if (!next) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

bool SupervisorProcess::take_report(Jobs::iterator job) {
  std::array<char, 16384> buffer;
  const ssize_t got = recv(job->second.guard.line.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got > 0) job->second.frames.feed({buffer.data(), static_cast<std::size_t>(got)});
  const auto frame = job->second.frames.next(kMaxRequestBytes);
  const auto message = frame ? parse_json(*frame) : Result<Json>(Json());
  if (frame && message) {
    // An order that crossed the report would be read as part of the next job.
    const bool has_orders = job->second.kill_at || job->second.is_killed;
    if (message->value(kWaits, false) && !spare_ && !has_orders) {
      spare_ = std::move(job->second.guard);
    } else {
      ended_guards_.insert(job->second.guard.pid);
    }
    finish(job, job_end_from(*message), message->value(kIsTold, false));
    return true;
  }
  // The end of the guard, which reap() sees, says the rest.
  if (got == 0) job->second.guard.line.reset();
  return false;
}

void SupervisorProcess::reap() {
  signalfd_siginfo ignored{};
  while (read(child_signals_.get(), &ignored, sizeof ignored) > 0) {
  }
  bool has_strays = false;
  while (true) {
    siginfo_t facts{};
    if (waitid(P_ALL, 0, &facts, WEXITED | WSTOPPED | WNOHANG | __WALL) != 0 || facts.si_pid == 0) break;
    if (facts.si_code == CLD_STOPPED) {
      // A guard that a tool has stopped cannot do its work.
      if (is_guard(facts.si_pid)) ::kill(facts.si_pid, SIGKILL);
    } else if (ended_guards_.erase(facts.si_pid) == 0) {
      has_strays = true;
      lose_guard(facts.si_pid);
    } else if (facts.si_code != CLD_EXITED) {
      has_strays = true;  // it was killed while it waited for processes that did not end in time
    }
  }
  if (has_strays) end_strays(kLateStrayTime);
}

void SupervisorProcess::lose_guard(pid_t guard) {
  if (spare_ && spare_->pid == guard) {
    spare_.reset();
    return prepare_spare();
  }
  const auto job = std::ranges::find_if(jobs_, [&](const auto& entry) { return entry.second.guard.pid == guard; });
  if (job == jobs_.end()) return;
  const bool is_killed = job->second.is_killed;
  if (job->second.guard.line && take_report(job)) {
    ended_guards_.erase(guard);
    if (spare_ && spare_->pid == guard) spare_.reset();
    return prepare_spare_later();
  }
  job->second.guard.pid = 0;
  if (!job->second.guard.cgroup.empty()) kill_cgroup(job->second.guard.cgroup);
  if (plan_.containment.kind != Containment::pid_namespace) end_strays(kStrayTime);
  if (!job->second.guard.cgroup.empty()) remove_cgroup(job->second.guard.cgroup);
  finish(job, {.id = job->first, .signal = SIGKILL, .lost = is_killed ? "" : "the process that guards it was killed"});
}

void SupervisorProcess::finish(Jobs::iterator job, JobEnd end, bool is_told) {
  if (is_told) {
    jobs_.erase(job);
    return;
  }
  drain(job->second.error_output.get(), job->second.tail);
  const std::string notes = std::exchange(end.error_output, last_lines(std::move(job->second.tail)));
  if (!notes.empty()) end.error_output += (end.error_output.empty() ? "" : "\n") + notes;
  jobs_.erase(job);
  send(to_message(end));
}

bool SupervisorProcess::is_guard(pid_t pid) const {
  return (spare_ && spare_->pid == pid) || ended_guards_.contains(pid) ||
         std::ranges::any_of(jobs_, [&](const auto& entry) { return entry.second.guard.pid == pid; });
}

void SupervisorProcess::end_strays(std::chrono::milliseconds limit) {
  const auto strays = [this] {
    std::vector<pid_t> pids = own_children();
    std::erase_if(pids, [this](pid_t pid) { return is_guard(pid); });
    return pids;
  };
  if (strays().empty()) return;
  const auto reap_strays = [&] {
    for (const pid_t pid : strays()) waitpid(pid, nullptr, WNOHANG | __WALL);
  };
  run_sweep({.roots = strays, .reap = reap_strays, .roots_keep_ids = true, .limit = limit});
}

void SupervisorProcess::end_everything() {
  // Guards end their jobs when they lose their line.
  for (auto& [id, job] : jobs_) job.guard.line.reset();
  spare_.reset();
  const auto end = Clock::now() + kGuardTime;
  while (Clock::now() < end) {
    const pid_t reaped = waitpid(-1, nullptr, WNOHANG | __WALL);
    if (reaped < 0) return;
    end_strays(std::chrono::milliseconds(0));
    pollfd children{child_signals_.get(), POLLIN, 0};
    signalfd_siginfo ignored{};
    if (reaped == 0 && poll(&children, 1, 10) > 0 && read(children.fd, &ignored, sizeof ignored) < 0) return;
  }
  jobs_.clear();
  ended_guards_.clear();
  // This process stays as long as it could kill something.
  for (std::chrono::milliseconds limit = kGuardTime;; limit = kLateStrayTime) {
    end_strays(limit);
    if (!has_killable_child()) return;
    pollfd children{child_signals_.get(), POLLIN, 0};
    poll(&children, 1, kStrayPause);
    signalfd_siginfo ignored{};
    [[maybe_unused]] const ssize_t got = read(children.fd, &ignored, sizeof ignored);
  }
}

void SupervisorProcess::send(const Json& message) {
  if (const auto text = write_json(message)) outgoing_.send(line_, make_frame(*text));
}

}  // namespace allm
