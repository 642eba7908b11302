#include "process/sweep.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <dirent.h>
#include <memory>
#include <ranges>
#include <sstream>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <unordered_set>

#include "data/read_file.hpp"
#include "process/fd.hpp"

namespace allm {
namespace {

using SweepClock = std::chrono::steady_clock;
constexpr std::size_t kMaxListBytes = std::size_t{8} << 20U;
// A process that has been stopped still has to be scheduled once; passes that follow at once would find it running.
constexpr std::chrono::microseconds kBetweenPasses{200};
// How long processes are stopped before they are killed, whether or not all of them have been stopped.
constexpr std::chrono::milliseconds kStopTime{500};

void add_numbers(const std::string& path, std::vector<pid_t>& numbers) {
  const std::string list = read_file(path, kMaxListBytes).value_or("");
  const char* at = list.data();
  const char* const end = at + list.size();
  for (pid_t pid = 0; at < end; ++at) {  // a space follows each number
    const auto [next, error] = std::from_chars(at, end, pid);
    if (error != std::errc()) return;
    numbers.push_back(pid);
    at = next;
  }
}

struct ProcessFacts {
  char state = 'X';
  pid_t parent = 0;
  bool has_ended() const { return state == 'Z' || state == 'X'; }
  bool is_stopped() const { return state == 'T' || state == 't'; }
};

ProcessFacts facts_of(pid_t pid) {
  ProcessFacts facts;
  const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat", kMaxListBytes).value_or("");
  const std::size_t end = stat.rfind(')');  // the name before it may contain anything
  if (end == std::string::npos) return facts;
  std::istringstream rest(stat.substr(end + 1));
  rest >> facts.state >> facts.parent;
  return facts;
}

struct Member {
  pid_t pid = 0;
  pid_t parent = 0;  // 0 for a root
};

std::vector<Member> members(const Sweep& sweep) {
  std::vector<Member> found;
  std::unordered_set<pid_t> known;  // a process that gets another parent meanwhile is seen twice
  for (const pid_t root : sweep.roots()) {
    if (known.insert(root).second) found.push_back({root, 0});
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const pid_t child : children_of(found[i].pid)) {
      if (known.insert(child).second) found.push_back({child, found[i].pid});
    }
  }
  return found;
}

// 0, or an errno. The id may belong to another process by now: the pidfd keeps the one whose parent is checked.
int signal_member(const Member& member, int signal) {
  const Fd process(static_cast<int>(syscall(SYS_pidfd_open, member.pid, 0)));
  if (!process) {
    if (errno != ENOSYS) return errno;
    return kill(member.pid, signal) == 0 ? 0 : errno;
  }
  // A member whose parent has ended meanwhile is found by the next pass.
  if (member.parent != 0 && facts_of(member.pid).parent != member.parent) return ESRCH;
  return syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0) == 0 ? 0 : errno;
}

// Signals the roots until a look at the list finds no new one.
void signal_roots(const Sweep& sweep, int signal) {
  if (!sweep.roots_keep_ids) return;
  constexpr int kMaxLooks = 100;
  std::unordered_set<pid_t> signalled;
  for (int i = 0; i < kMaxLooks; ++i) {
    bool is_new = false;
    for (const pid_t pid : sweep.roots()) {
      if (!signalled.insert(pid).second) continue;
      kill(pid, signal);
      is_new = true;
    }
    if (!is_new) return;
  }
}

void stop_all(const Sweep& sweep, SweepClock::time_point end) {
  while (SweepClock::now() < end) {
    bool is_quiet = true;
    signal_roots(sweep, SIGSTOP);
    for (const Member& member : members(sweep)) {
      const ProcessFacts facts = facts_of(member.pid);
      if (facts.has_ended() || facts.is_stopped()) continue;
      // A process that may not be signalled cannot be waited for.
      if (signal_member(member, SIGSTOP) != EPERM) is_quiet = false;
    }
    if (is_quiet) return;
    sweep.reap();
    std::this_thread::sleep_for(kBetweenPasses);
  }
}

}  // namespace

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  const std::string folder = "/proc/" + std::to_string(parent) + "/task/";
  const std::unique_ptr<DIR, int (*)(DIR*)> threads(opendir(folder.c_str()), &closedir);
  if (!threads) return children;
  while (const dirent* entry = readdir(threads.get())) {
    if (entry->d_name[0] != '.') add_numbers(folder + entry->d_name + "/children", children);
  }
  return children;
}

std::vector<pid_t> own_children() {
  std::vector<pid_t> children;
  add_numbers("/proc/thread-self/children", children);
  return children;
}

bool has_killable_child() {
  return std::ranges::any_of(own_children(), [](pid_t pid) { return kill(pid, 0) == 0; });
}

std::string run_sweep(const Sweep& sweep) {
  const auto begin = SweepClock::now();
  stop_all(sweep, begin + std::min<SweepClock::duration>(kStopTime, sweep.limit));
  // A process whose parent ends during a pass may be missed by it, so one empty pass proves nothing.
  for (int empty_passes = 0; empty_passes < 2;) {
    std::string left;
    // Descendants first: those of a process that has ended get another parent, and a sweep that has no time for another
    // pass would miss them.
    const std::vector<Member> found = members(sweep);
    for (const Member& member : found | std::views::reverse) {
      if (facts_of(member.pid).has_ended()) continue;
      const int error = signal_member(member, SIGKILL);
      left += " " + std::to_string(member.pid) + (error == 0 || error == ESRCH ? "" : " (" + errno_text(error) + ")");
    }
    signal_roots(sweep, SIGKILL);
    sweep.reap();
    empty_passes = left.empty() ? empty_passes + 1 : 0;
    if (SweepClock::now() - begin > sweep.limit) return left.empty() ? left : "not ended:" + left;
    if (!left.empty()) std::this_thread::sleep_for(kBetweenPasses);
  }
  return {};
}

}  // namespace allm
