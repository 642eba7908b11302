#include "process/launch.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "process/exec_texts.hpp"
#include "process/fd.hpp"
#include "process/role.hpp"
#include "process/sandbox.hpp"
#include "process/sanitized.hpp"

namespace allm {
namespace {

// Everything that the new process needs, prepared before the fork: between fork and exec only system calls are allowed.
struct Plan {
  std::vector<std::string> paths;  // tried in order
  std::vector<char*> argv;
  std::vector<char*> environment;
  const char* directory = nullptr;
  std::vector<std::pair<int, int>> moves;
  std::vector<std::pair<int, rlimit>> limits;
  PreparedSandbox sandbox;
  pid_t parent = 0;
  int cgroup = -1;
  int report = -1;  // write end of a pipe that exec closes
};

struct Report {
  int stage;
  int error;
};
constexpr std::array kStages = {"its session could not be made",       "its cgroup could not be entered",
                                "its descriptors could not be set up", "its directory could not be entered",
                                "its limits could not be set",         "its sandbox could not be set up",
                                "the program could not be run"};
enum Stage : int { session, cgroup, descriptors, directory, limits, sandboxed, program };

[[noreturn]] void give_up(const Plan& plan, Stage stage) {
  const Report report{stage, errno};
  [[maybe_unused]] const ssize_t written = write(plan.report, &report, sizeof report);
  _exit(127);
}

// Runs in the new process.
[[noreturn]] void become(const Plan& plan) {
  if (setsid() < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) give_up(plan, session);
  if (getppid() != plan.parent) _exit(127);  // the parent died before the line above
  if (plan.cgroup >= 0 && write(plan.cgroup, "0", 1) != 1) give_up(plan, cgroup);
  for (const auto& [from, to] : plan.moves) {
    if (dup2(from, to) < 0) give_up(plan, descriptors);
  }
  if (plan.directory != nullptr && chdir(plan.directory) != 0) give_up(plan, directory);
  for (const auto& [resource, limit] : plan.limits) {
    if (setrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) give_up(plan, limits);
  }
  if (!plan.sandbox.apply()) give_up(plan, sandboxed);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  int error = ENOENT;
  for (const std::string& path : plan.paths) {
    execve(path.c_str(), plan.argv.data(), plan.environment.data());
    if (errno != ENOENT && errno != ENOTDIR) error = errno;
  }
  errno = error;
  give_up(plan, program);
}

std::vector<std::string> candidates(const JobRequest& request) {
  const std::string& name = request.argv.front();
  if (name.find('/') != std::string::npos) return {name};
  std::string_view path = "/usr/local/bin:/usr/bin:/bin";
  for (const std::string& variable : request.environment) {
    if (variable.starts_with("PATH=")) path = std::string_view(variable).substr(5);
  }
  std::vector<std::string> found;
  while (!path.empty()) {
    const std::size_t colon = std::min(path.find(':'), path.size());
    // An empty element means the working directory, whose contents a model may control.
    if (colon > 0) found.push_back(std::string(path.substr(0, colon)) + "/" + name);
    path.remove_prefix(std::min(colon + 1, path.size()));
  }
  return found;
}

void add_limit(Plan& plan, int resource, rlim_t value) {
  rlimit now{};
  getrlimit(static_cast<__rlimit_resource>(resource), &now);
  const rlim_t allowed = std::min(value, now.rlim_max);
  plan.limits.emplace_back(resource, rlimit{allowed, allowed});
}

void add_limits(Plan& plan, const JobRequest& request) {
  // A core dump could contain secrets from arguments or the environment.
  add_limit(plan, RLIMIT_CORE, 0);
  if (request.limits.memory && !kSanitized) add_limit(plan, RLIMIT_AS, *request.limits.memory);
  if (request.limits.open_files) add_limit(plan, RLIMIT_NOFILE, *request.limits.open_files);
  // A worker sets its CPU limit for each call.
  if (request.limits.cpu_time && !request.is_worker) {
    const auto seconds = static_cast<rlim_t>(std::max<std::int64_t>(1, request.limits.cpu_time->count()));
    // SIGXCPU names the reason; SIGKILL follows for a process that ignores it.
    add_limit(plan, RLIMIT_CPU, seconds + 1);
    plan.limits.back().second.rlim_cur = std::min(seconds, plan.limits.back().second.rlim_max);
  }
}

std::vector<std::string> environment_of(const JobRequest& request) {
  std::vector<std::string> environment = request.environment;
  if (request.is_worker) {
    for (std::string& variable : own_environment()) environment.push_back(std::move(variable));
    environment.push_back(std::string(kRoleVariable) + "=worker:" + std::to_string(getpid()));
  }
  environment.push_back(std::string(kJobVariable) + "=" + std::to_string(request.id));
  return environment;
}

// Copies of the descriptors whose numbers do not collide with the target numbers.
class HighFds {
 public:
  int raise(int fd) {
    constexpr int kAbove = 16;
    kept_.emplace_back(fcntl(fd, F_DUPFD_CLOEXEC, kAbove));
    return kept_.back().get();
  }

 private:
  std::vector<Fd> kept_;
};

[[gnu::noinline]] pid_t start(const Plan& plan) {
  if constexpr (kSanitized) {
    const pid_t child = fork();
    if (child == 0) become(plan);
    return child;
  } else {
    // vfork copies no page tables, so a large process starts children as quickly as a small one.
    const pid_t child = vfork();  // NOLINT(bugprone-unsafe-functions,clang-analyzer-security.insecureAPI.vfork)
    if (child == 0) become(plan);
    return child;
  }
}

}  // namespace

std::expected<pid_t, std::string> launch(const JobRequest& request, const LaunchFds& fds) {
  Plan plan;
  std::vector<std::string> argv = request.is_worker ? std::vector<std::string>{"allm-worker"} : request.argv;
  if (argv.empty() || argv.front().empty()) return std::unexpected("it names no program");
  plan.paths = request.is_worker ? std::vector<std::string>{"/proc/self/exe"} : candidates(request);
  std::vector<std::string> environment = environment_of(request);
  plan.argv = exec_pointers(argv);
  plan.environment = exec_pointers(environment);
  if (!request.directory.empty()) plan.directory = request.directory.c_str();
  add_limits(plan, request);
  std::string error;
  static const KernelFeatures kFeatures = kernel_features();
  plan.sandbox = PreparedSandbox::prepare(request.limits.sandbox, kFeatures, error);
  if (!error.empty() && request.limits.sandbox.required) {
    return std::unexpected("its sandbox cannot be enforced: " + error);
  }

  HighFds high;
  const Fd nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  plan.moves = {{high.raise(nothing.get()), STDIN_FILENO},
                {high.raise(fds.error_output), STDOUT_FILENO},
                {high.raise(fds.error_output), STDERR_FILENO}};
  for (const auto& [from, to] : fds.moves) plan.moves.emplace_back(high.raise(from), to);
  std::array<int, 2> report{};
  if (pipe2(report.data(), O_CLOEXEC) != 0) return std::unexpected(std::strerror(errno));
  const Fd reports(report[0]);
  Fd reporter(report[1]);
  plan.report = high.raise(reporter.get());
  if (fds.cgroup >= 0) plan.cgroup = high.raise(fds.cgroup);
  plan.parent = getpid();

  const pid_t child = start(plan);
  if (child < 0) return std::unexpected(std::string("no process could be made: ") + std::strerror(errno));
  reporter.reset();
  high = HighFds();
  Report failed{};
  if (read(reports.get(), &failed, sizeof failed) != sizeof failed) return child;
  return std::unexpected(std::string(kStages.at(static_cast<std::size_t>(failed.stage))) + ": " +
                         std::strerror(failed.error));
}

}  // namespace allm
