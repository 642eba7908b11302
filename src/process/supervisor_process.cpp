#include "process/supervisor_process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <span>
#include <string_view>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "data/read_file.hpp"
#include "process/call_filter.hpp"
#include "process/cgroup.hpp"
#include "process/sweep.hpp"

namespace allm {
namespace {

constexpr std::size_t kMaxMessageBytes = std::size_t{1} << 20U;
// How long a place waits for its guard, unless it has a job: the start of that guard must not delay another job.
constexpr std::chrono::milliseconds kGuardDelay{5};
// How long a guard may take to end its job before it is killed.
constexpr std::chrono::seconds kGuardTime{6};
// How long other jobs wait while the processes of a guard that was killed are ended, and how long each time that one of
// them turns up later. A shorter time would not be enough to stop processes that replace themselves all the time.
constexpr std::chrono::seconds kStrayTime{2};
constexpr std::chrono::milliseconds kLateStrayTime{200};
// How often a supervisor whose program has ended looks after those that wait for a disk, in milliseconds.
constexpr int kStrayPause = 1000;

Fd watch_process(pid_t pid) { return Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))); }

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
  const std::size_t first_place = watched.size();
  std::vector<std::uint64_t> numbers;
  for (auto& [number, place] : places_) {
    watched.push_back({place.guard.line.get(), POLLIN, 0});
    numbers.push_back(number);
  }
  const std::size_t first_new_place = watched.size();
  for (const NewPlace& place : new_places_) watched.push_back({place.line.get(), POLLIN, 0});
  if (poll(watched.data(), watched.size(), milliseconds_to_next_event()) < 0 && errno != EINTR) return false;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (watched[first_place + i].revents != 0) take_report(places_.find(numbers[i]));
  }
  if (watched[1].revents != 0) reap();
  kill_overdue();
  if (watched[2].revents != 0) return false;
  const bool is_quiet = (watched[0].revents & ~POLLOUT) == 0;
  if ((watched[0].revents & POLLOUT) != 0 && !outgoing_.flush(line_)) return false;
  look_at_new_places(std::span<const pollfd>(watched).subspan(first_new_place));
  return is_quiet || receive();
}

bool SupervisorProcess::receive() {
  std::array<char, 65536> buffer;  // filling it with zeros would take microseconds
  const ssize_t got = receive_some(line_, buffer.data(), buffer.size(), received_fds_);
  if (got < 0) return errno == EAGAIN;
  if (got == 0) return false;
  frames_.feed({buffer.data(), static_cast<std::size_t>(got)});
  while (const auto frame = frames_.next(kMaxMessageBytes)) {
    if (const auto message = parse_json(*frame)) handle(*message);
  }
  // The program never sends such a frame; without an end it would wait for ever.
  return !frames_.exceeds(kMaxMessageBytes);
}

void SupervisorProcess::handle(const Json& message) {
  if (message.contains("place")) {
    add_place(message["place"].get<std::uint64_t>());
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
}

void SupervisorProcess::add_place(std::uint64_t number) {
  // The kernel drops descriptors for which this process has no numbers left.
  if (received_fds_.empty()) return give_up(number, {.error = "the process supervisor has too many open files"});
  NewPlace place{.number = number, .line = std::move(received_fds_.front()), .guard_at = Clock::now() + kGuardDelay};
  received_fds_.erase(received_fds_.begin());
  if (!refusal_.empty()) return give_up(number, {.error = refusal_});
  new_places_.push_back(std::move(place));
}

void SupervisorProcess::look_at_new_places(std::span<const pollfd> lines) {
  const auto now = Clock::now();
  for (const pollfd& line : lines) {
    const auto place = std::ranges::find_if(new_places_, [&](const auto& one) { return one.line.get() == line.fd; });
    if (place == new_places_.end() || (line.revents == 0 && place->guard_at > now)) continue;
    // The end of a line comes with POLLIN, too.
    const bool is_wanted = (line.revents & (POLLHUP | POLLERR)) == 0;
    const NewPlace wanted = std::move(*place);
    new_places_.erase(place);
    if (is_wanted) start_guard_for(wanted);
  }
}

void SupervisorProcess::start_guard_for(const NewPlace& place) {
  auto guard = start_guard(plan_, place.line.get());
  if (!guard) return give_up(place.number, {.error = guard.error()});
  places_.emplace(place.number, Place{.guard = *std::move(guard)});
}

void SupervisorProcess::stop(std::uint64_t number, std::chrono::milliseconds grace) {
  if (std::erase_if(new_places_, [&](const NewPlace& place) { return place.number == number; }) > 0) {
    return give_up(number, {.signal = SIGKILL});
  }
  const auto place = places_.find(number);
  if (place == places_.end() || place->second.is_killed) return;
  if (grace.count() > 0 && !place->second.kill_at) {
    ::send(place->second.guard.line.get(), &kTerminateJob, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  const auto time = Clock::now() + std::max(grace, std::chrono::milliseconds(0));
  place->second.kill_at = std::min(place->second.kill_at.value_or(time), time);
  kill_overdue();
}

void SupervisorProcess::kill_overdue() {
  const auto now = Clock::now();
  for (auto& [number, place] : places_) {
    if (place.kill_at && *place.kill_at <= now) kill(place);
  }
}

void SupervisorProcess::kill(Place& place) {
  const bool asked = std::exchange(place.is_killed, true);
  // A namespace ends with its guard, at once.
  if (asked || plan_.containment.kind == Containment::pid_namespace ||
      ::send(place.guard.line.get(), &kKillJob, 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1) {
    ::kill(place.guard.pid, SIGKILL);
    place.kill_at.reset();
    return;
  }
  place.kill_at = Clock::now() + kGuardTime;
}

int SupervisorProcess::milliseconds_to_next_event() const {
  std::optional<Clock::time_point> next;
  if (!new_places_.empty()) next = new_places_.front().guard_at;
  for (const auto& [number, place] : places_) {
    if (place.kill_at && (!next || *place.kill_at < *next)) next = place.kill_at;
  }
  if (!next) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

bool SupervisorProcess::take_report(Places::iterator place) {
  std::array<char, 16384> buffer;
  Guard& guard = place->second.guard;
  ssize_t got = 0;
  while ((got = recv(guard.line.get(), buffer.data(), buffer.size(), MSG_DONTWAIT)) > 0) {
    place->second.frames.feed({buffer.data(), static_cast<std::size_t>(got)});
  }
  const auto frame = place->second.frames.next(kMaxMessageBytes);
  const auto message = frame ? parse_json(*frame) : Result<Json>(Json());
  // The end of the guard, which reap() sees, says the rest.
  if (got == 0) guard.line.reset();
  if (!frame || !message) return false;
  send(*message);
  if (message->value(kWaits, false)) return false;
  if (guard.pid != 0) ended_guards_.insert(guard.pid);
  places_.erase(place);
  return true;
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
  const auto place = std::ranges::find_if(places_, [&](const auto& entry) { return entry.second.guard.pid == guard; });
  if (place == places_.end()) return;
  const std::uint64_t number = place->first;
  const bool was_stopped = place->second.is_killed || place->second.kill_at;
  place->second.guard.pid = 0;
  const std::string cgroup = place->second.guard.cgroup;
  if (place->second.guard.line && take_report(place)) return;
  places_.erase(place);
  if (!cgroup.empty()) kill_cgroup(cgroup);
  if (plan_.containment.kind != Containment::pid_namespace) end_strays(kStrayTime);
  if (!cgroup.empty()) remove_cgroup(cgroup);
  give_up(number, {.signal = SIGKILL, .lost = was_stopped ? "" : "the process that guards it was killed"});
}

void SupervisorProcess::give_up(std::uint64_t number, const JobEnd& end) {
  Json message = to_message(end);
  message[kLostPlace] = number;
  send(message);
}

bool SupervisorProcess::is_guard(pid_t pid) const {
  return ended_guards_.contains(pid) ||
         std::ranges::any_of(places_, [&](const auto& entry) { return entry.second.guard.pid == pid; });
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
  for (auto& [number, place] : places_) place.guard.line.reset();
  new_places_.clear();
  const auto end = Clock::now() + kGuardTime;
  while (Clock::now() < end) {
    const pid_t reaped = waitpid(-1, nullptr, WNOHANG | __WALL);
    if (reaped < 0) return;
    end_strays(std::chrono::milliseconds(0));
    pollfd children{child_signals_.get(), POLLIN, 0};
    signalfd_siginfo ignored{};
    if (reaped == 0 && poll(&children, 1, 10) > 0 && read(children.fd, &ignored, sizeof ignored) < 0) return;
  }
  places_.clear();
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
