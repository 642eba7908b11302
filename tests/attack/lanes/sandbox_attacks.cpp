#include "tests/attack/lanes/sandbox_attacks.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <sched.h>
#include <string>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "process/fd.hpp"
#include "process/role.hpp"
#include "tests/lanes/misbehaviour.hpp"

namespace allm::testing {
namespace {

// 0, or the errno of a system call that failed.
Json error_of(long result) { return result < 0 ? errno : 0; }

std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string proc(pid_t pid, const char* file) { return "/proc/" + std::to_string(pid) + "/" + file; }

// Tries to read, and then to change, eight bytes of another process.
Json memory(const Json& arguments) {
  const auto pid = arguments.at("pid").get<pid_t>();
  const auto address = arguments.at("address").get<std::uintptr_t>();
  Json seen;
  std::uint64_t value = 0;
  {
    const Fd file(open(proc(pid, "mem").c_str(), O_RDONLY | O_CLOEXEC));
    seen["mem_read"] = error_of(file ? pread(file.get(), &value, sizeof value, static_cast<off_t>(address)) : -1);
  }
  std::uint64_t changed = 666;
  {
    const Fd file(open(proc(pid, "mem").c_str(), O_RDWR | O_CLOEXEC));
    seen["mem_write"] = error_of(file ? pwrite(file.get(), &changed, sizeof changed, static_cast<off_t>(address)) : -1);
  }
  const iovec ours{&value, sizeof value};
  const iovec theirs{reinterpret_cast<void*>(address), sizeof value};  // NOLINT(performance-no-int-to-ptr)
  seen["process_vm_readv"] = error_of(process_vm_readv(pid, &ours, 1, &theirs, 1, 0));
  seen["process_vm_writev"] = error_of(process_vm_writev(pid, &ours, 1, &theirs, 1, 0));
  seen["ptrace"] = error_of(ptrace(PTRACE_SEIZE, pid, nullptr, nullptr));
  for (const char* file : {"environ", "maps", "fd/0", "auxv"}) {
    seen[file] = error_of(open(proc(pid, file).c_str(), O_RDONLY | O_CLOEXEC));
  }
  for (const char* link : {"root", "cwd", "exe"}) {
    std::array<char, 256> target{};
    seen[link] = error_of(readlink(proc(pid, link).c_str(), target.data(), target.size()));
  }
  return seen;
}

sockaddr_un address_of(const std::string& name, socklen_t& size) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const bool is_abstract = name.starts_with('@');
  std::memcpy(address.sun_path, name.data(), name.size());
  if (is_abstract) address.sun_path[0] = '\0';
  size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  return address;
}

// All ways to reach the local socket `name` with the socket `fd`. True for each that succeeded.
Json ways_to_send(int fd, const std::string& name) {
  socklen_t size = 0;
  sockaddr_un address = address_of(name, size);
  auto* const target = reinterpret_cast<sockaddr*>(&address);
  iovec text{const_cast<char*>("forged"), 6};
  msghdr message{};
  message.msg_name = target;
  message.msg_namelen = size;
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  mmsghdr messages{message, 0};
  Json seen;
  seen["sendto"] = sendto(fd, "forged", 6, MSG_NOSIGNAL | MSG_DONTWAIT, target, size) >= 0;
  seen["sendmsg"] = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
  seen["sendmmsg"] = sendmmsg(fd, &messages, 1, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
  sockaddr unspecified{};
  unspecified.sa_family = AF_UNSPEC;
  seen["connect to nothing"] = connect(fd, &unspecified, sizeof unspecified) == 0;
  seen["connect"] = connect(fd, target, size) == 0;
  return seen;
}

// Ways to local sockets without socket(2): with pairs of every type, and with the worker's own line.
Json local_sockets(const Json& arguments) {
  Json seen;
  for (const Json& name : arguments.at("names")) {
    const auto text = name.get<std::string>();
    for (const int type : {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET}) {
      std::array<int, 2> ends{-1, -1};
      if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends.data()) != 0) continue;
      const Fd one(ends[0]);
      Fd other(ends[1]);
      seen[text]["pair " + std::to_string(type)] = ways_to_send(one.get(), text);
      shutdown(one.get(), SHUT_RDWR);
      other.reset();
      seen[text]["shut pair " + std::to_string(type)] = ways_to_send(one.get(), text);
    }
    seen[text]["line"] = ways_to_send(kLineFd, text);
    seen[text]["socket"] = socket(AF_UNIX, SOCK_DGRAM, 0) >= 0;
  }
  return seen;
}

// A stream pair must still carry what it is for.
Json own_pair(const Json&) {
  std::array<int, 2> ends{-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return error_of(-1);
  const Fd one(ends[0]);
  const Fd other(ends[1]);
  iovec text{const_cast<char*>("b"), 1};
  msghdr message{};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  std::array<char, 8> received{};
  const bool sent =
      send(one.get(), "a", 1, 0) == 1 && sendmsg(one.get(), &message, 0) == 1 && write(one.get(), "c", 1) == 1;
  const ssize_t got = recv(other.get(), received.data(), received.size(), 0);
  return {{"sent", sent},
          {"received", std::string(received.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)))}};
}

// errno of clone and of clone3 with one more flag.
Json clones(const Json& arguments) {
  const auto flag = arguments.at("flag").get<std::uint64_t>();
  Json seen;
  const auto end_child = [](long child) {
    if (child == 0) _exit(0);
    Json error = error_of(child);
    if (child > 0) waitpid(static_cast<pid_t>(child), nullptr, __WALL);
    return error;
  };
  seen["clone"] = end_child(syscall(SYS_clone, flag | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  std::array<std::uint64_t, 11> settings{};
  settings[0] = flag;
  settings[4] = SIGCHLD;
  seen["clone3"] = end_child(syscall(SYS_clone3, settings.data(), sizeof settings));
  const pid_t child = fork();
  if (child == 0) _exit(unshare(static_cast<int>(flag)) == 0 ? 0 : errno);
  int status = 0;
  waitpid(child, &status, 0);
  seen["unshare"] = WEXITSTATUS(status);
  return seen;
}

// Sends signals to another process in every way.
Json signals(const Json& arguments) {
  const auto pid = arguments.at("pid").get<pid_t>();
  const int signal = arguments.value("signal", 0);
  Json seen;
  siginfo_t info{};
  info.si_signo = signal;
  info.si_code = SI_QUEUE;
  seen["kill"] = error_of(kill(pid, signal));
  seen["kill of its group"] = error_of(kill(-getpgid(pid), signal));
  seen["tgkill"] = error_of(syscall(SYS_tgkill, pid, pid, signal));
  seen["tkill"] = error_of(syscall(SYS_tkill, pid, signal));
  seen["rt_sigqueueinfo"] = error_of(syscall(SYS_rt_sigqueueinfo, pid, signal, &info));
  seen["rt_tgsigqueueinfo"] = error_of(syscall(SYS_rt_tgsigqueueinfo, pid, pid, signal, &info));
  const Fd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  seen["pidfd_send_signal"] = error_of(syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0));
  // The kernel signals the owner of a pipe when the pipe becomes readable.
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return seen;
  const Fd reader(ends[0]);
  const Fd writer(ends[1]);
  fcntl(reader.get(), F_SETOWN, pid);
  fcntl(reader.get(), F_SETFL, O_ASYNC);
  if (signal != 0) [[maybe_unused]]
    const ssize_t written = write(writer.get(), "x", 1);
  return seen;
}

// errno of calls that change how another process is scheduled, and what it may use.
Json settings(const Json& arguments) {
  const auto pid = arguments.at("pid").get<pid_t>();
  Json seen;
  seen["setpriority"] = error_of(setpriority(PRIO_PROCESS, static_cast<id_t>(pid), 19));
  cpu_set_t processors;
  CPU_ZERO(&processors);
  CPU_SET(0, &processors);
  seen["sched_setaffinity"] = error_of(sched_setaffinity(pid, sizeof processors, &processors));
  const sched_param parameters{};
  seen["sched_setscheduler"] = error_of(sched_setscheduler(pid, SCHED_BATCH, &parameters));
  const rlimit limit{16, 16};
  seen["prlimit"] = error_of(prlimit(pid, RLIMIT_NOFILE, &limit, nullptr));
  seen["ioprio_set"] = error_of(syscall(SYS_ioprio_set, 1, pid, 7));
  return seen;
}

// How a process ends that uses the system calls of another architecture: "returned" if it could.
Json foreign(const Json&) {
  Json seen;
#ifdef __x86_64__
  const auto ended = [](const std::function<long()>& call) -> std::string {
    const pid_t child = fork();
    if (child == 0) {
      signal(SIGSEGV, SIG_DFL);
      _exit(call() > 0 ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "returned" : "refused";
  };
  seen["int80"] = ended([] {
    long result = 20;  // getpid
    asm volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
    return result;
  });
  seen["x32"] = ended([] { return syscall(0x40000000 + SYS_getpid); });
#endif
  return seen;
}

Json system_calls(const Json& arguments) {
  Json errors = Json::array();
  for (const Json& call : arguments.at("calls")) {
    std::array<long, 6> values{};
    std::deque<std::string> texts;
    std::deque<std::vector<std::uint32_t>> words;
    std::size_t at = 0;
    for (const Json& argument : call.at("arguments")) {
      if (argument.is_string()) {
        texts.push_back(argument.get<std::string>());
        values.at(at++) = reinterpret_cast<long>(texts.back().data());
      } else if (argument.is_object()) {
        words.push_back(argument.at("bytes").get<std::vector<std::uint32_t>>());
        values.at(at++) = reinterpret_cast<long>(words.back().data());
      } else {
        values.at(at++) = argument.get<long>();
      }
    }
    errors.push_back(error_of(
        syscall(call.at("number").get<long>(), values[0], values[1], values[2], values[3], values[4], values[5])));
  }
  return errors;
}

// FS_IOC_SETFLAGS on a file, also with a bit that the kernel ignores.
Json file_flags(const Json& arguments) {
  constexpr unsigned long kSetFlags = 0x40086602;
  constexpr unsigned long kFsSetXattr = 0x401c5820;
  const Fd file(open(arguments.at("file").get<std::string>().c_str(), O_RDONLY | O_CLOEXEC));
  int flags = 0x40;  // no dump
  std::array<std::uint32_t, 7> attributes{};
  Json seen;
  seen["open"] = error_of(file.get());
  seen["setflags"] = error_of(syscall(SYS_ioctl, file.get(), kSetFlags, &flags));
  seen["setflags with a high bit"] = error_of(syscall(SYS_ioctl, file.get(), kSetFlags | (1UL << 32U), &flags));
  seen["fssetxattr"] = error_of(syscall(SYS_ioctl, file.get(), kFsSetXattr, attributes.data()));
  return seen;
}

Json environment(const Json&) {
  std::string all = contents_of("/proc/self/environ");
  for (char** variable = environ; *variable != nullptr; ++variable) all += std::string("\n") + *variable;
  Json ancestors = Json::array();
  for (pid_t pid = getppid(); pid > 1;) {
    ancestors.push_back(contents_of(proc(pid, "environ")));
    const std::string facts = contents_of(proc(pid, "stat"));
    const std::size_t name_end = facts.rfind(')');
    pid = name_end == std::string::npos ? 0 : std::atoi(facts.c_str() + name_end + 4);
  }
  for (char& c : all) {
    if (c == '\0') c = '\n';
  }
  std::string parents;
  for (const Json& one : ancestors) parents += one.get<std::string>();
  for (char& c : parents) {
    if (c == '\0') c = '\n';
  }
  return {{"own", all}, {"ancestors", parents}};
}

using Attacks = std::map<std::string, Json (*)(const Json&)>;
const Attacks& attacks() {
  static const auto* const all = new Attacks{
      {"memory", &memory},   {"local_sockets", &local_sockets}, {"own_pair", &own_pair}, {"clones", &clones},
      {"signals", &signals}, {"settings", &settings},           {"foreign", &foreign},   {"file_flags", &file_flags},
  };
  return *all;
}

const AddedWorkerTool kAttack("sandbox_attack", [](const Json& arguments) {
  return ok(attacks().at(arguments.at("kind").get<std::string>())(arguments));
});
const AddedWorkerTool kSystemCalls("system_calls", [](const Json& arguments) { return ok(system_calls(arguments)); });
const AddedWorkerTool kEnvironment("environment", [](const Json& arguments) { return ok(environment(arguments)); });

}  // namespace

const Tool& sandbox_attack_tool() { return kAttack.tool(); }
const Tool& system_calls_tool() { return kSystemCalls.tool(); }
const Tool& environment_tool() { return kEnvironment.tool(); }

}  // namespace allm::testing
