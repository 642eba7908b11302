#include "tests/attack/lanes/hostile_processes.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/lanes/misbehaviour.hpp"

namespace allm::testing::hostile_processes {
namespace {

constexpr int kBombs = 60;

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string comm_of(pid_t pid) { return first_line("/proc/" + std::to_string(pid) + "/comm"); }

struct Stat {
  char state = 'X';
  pid_t parent = 0;
};
Stat stat_of(const std::string& process) {
  Stat stat;
  const std::string line = first_line("/proc/" + process + "/stat");
  const std::size_t end = line.rfind(')');
  if (end == std::string::npos) return stat;
  std::istringstream rest(line.substr(end + 1));
  rest >> stat.state >> stat.parent;
  return stat;
}

// Ancestors of this process that are guards or process supervisors: never those of another test or of the user.
std::vector<pid_t> watching_processes() {
  std::vector<pid_t> found;
  for (pid_t pid = stat_of("self").parent; pid > 1; pid = stat_of(std::to_string(pid)).parent) {
    const std::string name = comm_of(pid);
    if (!name.starts_with("allm-guard") && !name.starts_with("allm-supervis")) break;
    found.push_back(pid);
  }
  return found;
}

void signal_all(const std::vector<pid_t>& pids, int signal) {
  for (const pid_t pid : pids) kill(pid, signal);
}

// The supervisor first, so that it cannot react to the end of a guard.
void signal_watchers(int signal) {
  std::vector<pid_t> pids = watching_processes();
  std::ranges::reverse(pids);
  signal_all(pids, signal);
}
void signal_supervisor(int signal) {
  const std::vector<pid_t> pids = watching_processes();
  if (!pids.empty()) kill(pids.back(), signal);
}

[[noreturn]] void hide(const std::string& mark) {
  prctl(PR_SET_PDEATHSIG, 0);
  prctl(PR_SET_NAME, mark.c_str());
  for (int fd = 0; fd < 64; ++fd) close(fd);
  while (true) pause();
}

// Lets a tool go on only when the processes that it started have their marks: they close this pipe then.
class Hiding {
 public:
  Hiding() { [[maybe_unused]] const int made = pipe(ends_.data()); }
  Hiding(const Hiding&) = delete;
  Hiding& operator=(const Hiding&) = delete;
  ~Hiding() {
    close(ends_[1]);
    char byte = 0;
    [[maybe_unused]] const ssize_t got = read(ends_[0], &byte, 1);
    close(ends_[0]);
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

void start_hidden(const std::string& mark, int count = 1) {
  const Hiding hiding;
  for (int i = 0; i < count; ++i) {
    if (fork() != 0) continue;
    setsid();
    hide(mark);
  }
}

// A daemon whose environment has another job's id, or none.
void start_with_environment(const std::string& mark, std::string variable) {
  const Hiding hiding;
  if (fork() != 0) return;
  setsid();
  if (fork() != 0) _exit(0);
  std::string program = ALLM_MISBEHAVE;
  std::string mode = "hostile";
  std::string kind = "hides";
  std::string name = mark;
  std::array<char*, 5> argv = {program.data(), mode.data(), kind.data(), name.data(), nullptr};
  std::array<char*, 2> environment = {variable.empty() ? nullptr : variable.data(), nullptr};
  execve(program.c_str(), argv.data(), environment.data());
  _exit(1);
}

void clone_to_parent(const std::string& mark) {
  const Hiding hiding;
  if (syscall(SYS_clone, CLONE_PARENT | SIGCHLD, nullptr, nullptr, nullptr, nullptr) != 0) return;
  setsid();
  hide(mark);
}

// Processes in sessions of their own that replace themselves all the time.
[[noreturn]] void keep_moving(const std::string& mark) {
  prctl(PR_SET_NAME, mark.c_str());
  while (true) {
    if (fork() > 0) _exit(0);
    prctl(PR_SET_PDEATHSIG, 0);
    setsid();
  }
}

[[noreturn]] void stay() {
  std::signal(SIGTERM, SIG_IGN);
  while (true) pause();
}

using Attack = std::function<void(const std::string& mark)>;
const std::map<std::string, Attack>& attacks() {
  static const auto* const all = new std::map<std::string, Attack>{
      {"returns", [](const std::string&) {}},
      {"hides", [](const std::string& mark) { hide(mark); }},
      {"kills_the_supervisor_and_stays",
       [](const std::string& mark) {
         start_hidden(mark);
         signal_supervisor(SIGKILL);
         hide(mark);
       }},
      {"kills_its_guard_and_stays",
       [](const std::string& mark) {
         start_hidden(mark);
         const std::vector<pid_t> pids = watching_processes();
         if (!pids.empty()) kill(pids.front(), SIGKILL);
         hide(mark);
       }},
      {"stops_its_guard_and_stays",
       [](const std::string& mark) {
         start_hidden(mark);
         const std::vector<pid_t> pids = watching_processes();
         if (!pids.empty()) kill(pids.front(), SIGSTOP);
         hide(mark);
       }},
      {"stops_the_supervisor_and_stays",
       [](const std::string& mark) {
         start_hidden(mark);
         signal_supervisor(SIGSTOP);
         hide(mark);
       }},
      {"stops_all_watchers_and_stays",
       [](const std::string& mark) {
         start_hidden(mark);
         signal_watchers(SIGSTOP);
         hide(mark);
       }},
      {"kills_all_watchers_and_stays",
       [](const std::string& mark) {
         start_hidden(mark);
         signal_watchers(SIGKILL);
         hide(mark);
       }},
      {"bombs_and_stays",
       [](const std::string& mark) {
         start_hidden(mark, kBombs);
         stay();
       }},
      {"bombs", [](const std::string& mark) { start_hidden(mark, kBombs); }},
      {"moving_bombs_and_stays",
       [](const std::string& mark) {
         for (int i = 0; i < kBombs; ++i) {
           if (fork() == 0) keep_moving(mark);
         }
         stay();
       }},
      {"clones_to_its_parent", clone_to_parent},
      {"clones_to_its_parent_and_stays",
       [](const std::string& mark) {
         clone_to_parent(mark);
         stay();
       }},
      {"forges_its_job", [](const std::string& mark) { start_with_environment(mark, "ALLM_JOB=1"); }},
      {"forgets_its_job", [](const std::string& mark) { start_with_environment(mark, ""); }},
  };
  return *all;
}

const AddedWorkerTool hostile("hostile", [](const Json& arguments) {
  attack_supervision(arguments.at("kind").get<std::string>(), arguments.at("mark").get<std::string>());
  return ok("attacked");
});

}  // namespace

void attack_supervision(const std::string& kind, const std::string& mark) { attacks().at(kind)(mark); }

Tool hostile_worker() { return hostile.tool(); }

Tool hostile_command(const std::string& kind, const std::string& mark) {
  return {.name = "hostile", .command = Command{.argv = {ALLM_MISBEHAVE, "hostile", kind, mark}}};
}

std::string new_mark() {
  static std::atomic<int> count = 0;
  return "h" + std::to_string(getpid()) + "." + std::to_string(++count);
}

std::vector<int> survivors(const std::string& mark) {
  std::vector<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (std::isdigit(static_cast<unsigned char>(name.front())) == 0 || comm_of(std::stoi(name)) != mark) continue;
    const char state = stat_of(name).state;
    if (state != 'Z' && state != 'X') found.push_back(std::stoi(name));
  }
  return found;
}

}  // namespace allm::testing::hostile_processes
