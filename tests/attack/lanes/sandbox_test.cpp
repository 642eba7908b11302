// A hostile tool in a sandbox: what it must not reach, and what ordinary programs still do there.
#include "process/sandbox.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <spawn.h>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/tool_runner.hpp"
#include "allm/workers.hpp"

#include "process/fd.hpp"
#include "process/sanitized.hpp"
#include "process/secret_variables.hpp"
#include "providers/openai/presets.hpp"
#include "tests/attack/lanes/sandbox_attacks.hpp"
#include "tests/cases.hpp"
#include "tests/lanes/processes.hpp"

namespace allm::testing::sandbox_attack_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSecret = "sk-attack-0123456789abcdef";

// Without namespaces, in which a tool would not see the processes that it attacks: the sandbox is the only wall.
RuntimeOptions without_namespaces(RuntimeOptions options = {}) {
  options.containment = Containment::sweep;
  return options;
}
const Engine& plain_engine() {
  static const auto* const engine = new Engine({.runtime = Runtime::create(without_namespaces())});
  return *engine;
}

Json called(Tool tool, const Json& arguments, const Sandbox& sandbox, const Engine& engine = plain_engine()) {
  tool.limits.sandbox = sandbox;
  tool.timeout = std::chrono::seconds(50);
  const auto batch = run_tool_calls({{.id = "c1", .name = tool.name, .arguments = arguments}}, {tool}, {}, engine);
  const std::string text = batch ? batch->messages.at(0).text() : batch.error().message();
  const Json value = Json::parse(text, nullptr, false);
  return value.is_discarded() ? Json(text) : value;
}

Json attack(const std::string& kind, Json arguments, const Sandbox& sandbox) {
  arguments["kind"] = kind;
  return called(sandbox_attack_tool(), arguments, sandbox);
}

const std::vector<Sandbox>& sandboxes() {
  static const auto* const all =
      new std::vector<Sandbox>{{.network = false}, {.read_only = true}, {.network = false, .read_only = true}};
  return *all;
}

std::string shown(const Sandbox& sandbox) {
  return std::string("network ") + (sandbox.network ? "true" : "false") + ", read_only " +
         (sandbox.read_only ? "true" : "false");
}

bool contains(const Json& value, const std::string& part) {
  return (value.is_string() ? value.get<std::string>() : value.dump()).find(part) != std::string::npos;
}

class AttackSandbox : public ::testing::Test {
 protected:
  AttackSandbox()
      : folder_(fs::path(::testing::TempDir()) / ("allm_sandbox_" + std::to_string(getpid()))),
        support_(sandbox_support()) {
    fs::create_directories(folder_);
  }
  ~AttackSandbox() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  void SetUp() override {
    if (!support_.no_network || !support_.read_only) GTEST_SKIP() << "this kernel has no seccomp or no Landlock";
  }

  std::string file(const std::string& name) const {
    std::ofstream(folder_ / name) << "text";
    return (folder_ / name).string();
  }

  fs::path folder_;
  SandboxSupport support_;
};

volatile std::uint64_t victim_value = 20261118;

TEST_F(AttackSandbox, TheProgramsMemoryIsOutOfReach) {
  // PTRACE_SEIZE would keep the program traced until the worker ends; the memory test runs in all sandboxes.
  for (const Sandbox& sandbox : sandboxes()) {
    const Json seen =
        attack("memory", {{"pid", getpid()}, {"address", reinterpret_cast<std::uintptr_t>(&victim_value)}}, sandbox);
    for (const auto& [way, error] : seen.items()) EXPECT_NE(error, 0) << shown(sandbox) << ": " << way;
    EXPECT_EQ(victim_value, 20261118U);
    victim_value = 20261118;
  }
}

// A process that any user of this test could open: it is no part of allm.
class Victim {
 public:
  Victim() {
    std::array<const char*, 3> arguments = {"sleep", "1000", nullptr};
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // a group that a test may signal
    EXPECT_EQ(posix_spawnp(&pid_, "sleep", nullptr, &attributes, const_cast<char**>(arguments.data()), environ), 0);
    posix_spawnattr_destroy(&attributes);
  }
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;
  ~Victim() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  bool is_alive() const { return !has_ended(pid_); }

 private:
  pid_t pid_ = 0;
};

TEST_F(AttackSandbox, OtherProcessesAreOutOfReach) {
  const Victim victim;
  for (const Sandbox& sandbox : sandboxes()) {
    const Json seen = attack("memory", {{"pid", victim.pid()}, {"address", 4096}}, sandbox);
    for (const auto& [way, error] : seen.items()) EXPECT_NE(error, 0) << shown(sandbox) << ": " << way;
    const Json settings = attack("settings", {{"pid", victim.pid()}}, sandbox);
    for (const auto& [way, error] : settings.items()) EXPECT_EQ(error, EPERM) << shown(sandbox) << ": " << way;
  }
}

TEST_F(AttackSandbox, SignalsToOtherProcessesAreRefused) {
  if (kernel_features().landlock < 6) GTEST_SKIP() << "Landlock before version 6";
  const Victim victim;
  for (const Sandbox& sandbox : sandboxes()) {
    for (const pid_t pid : {getpid(), victim.pid()}) {
      const Json seen = attack("signals", {{"pid", pid}, {"signal", pid == getpid() ? 0 : SIGTERM}}, sandbox);
      for (const auto& [way, error] : seen.items()) EXPECT_NE(error, 0) << shown(sandbox) << ": " << way;
    }
    for (const pid_t pid : supervisors_of(getpid())) {
      const Json seen = attack("signals", {{"pid", pid}, {"signal", SIGSTOP}}, sandbox);
      for (const auto& [way, error] : seen.items()) EXPECT_NE(error, 0) << shown(sandbox) << ": " << way;
    }
  }
  EXPECT_TRUE(victim.is_alive());
}

// A datagram socket and a stream socket of somebody else.
class LocalService {
 public:
  LocalService(int type, const std::string& name) : fd_(socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name.starts_with('@')) address.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), size), 0) << std::strerror(errno);
    if (type != SOCK_DGRAM) {
      EXPECT_EQ(listen(fd_.get(), 8), 0);
    }
  }
  bool was_reached() const {
    char byte = 0;
    if (recv(fd_.get(), &byte, 1, 0) >= 0) return true;
    return accept(fd_.get(), nullptr, nullptr) >= 0;
  }

 private:
  Fd fd_;
};

TEST_F(AttackSandbox, NoLocalSocketIsReachable) {
  const std::string path = (folder_ / "service").string();
  const std::string abstract = "@allm_sandbox_" + std::to_string(getpid());
  for (const int type : {SOCK_DGRAM, SOCK_STREAM, SOCK_SEQPACKET}) {
    const std::string end = std::to_string(type);
    const LocalService by_path(type, path + end);
    const LocalService by_name(type, abstract + end);
    fs::permissions(path + end, fs::perms::all);
    for (const Sandbox& sandbox : sandboxes()) {
      if (sandbox.network) continue;
      const Json seen = attack("local_sockets", {{"names", {path + end, abstract + end}}}, sandbox);
      for (const auto& [name, sockets] : seen.items()) {
        EXPECT_EQ(sockets["socket"], false);
        for (const auto& [which, ways] : sockets.items()) {
          if (!ways.is_object()) continue;
          for (const auto& [way, reached] : ways.items())
            EXPECT_EQ(reached, false) << name << " " << which << " " << way;
        }
      }
    }
    EXPECT_FALSE(by_path.was_reached());
    EXPECT_FALSE(by_name.was_reached());
  }
}

TEST_F(AttackSandbox, StreamPairsStillWork) {
  for (const Sandbox& sandbox : sandboxes()) {
    EXPECT_EQ(attack("own_pair", Json::object(), sandbox), Json({{"sent", true}, {"received", "abc"}}));
  }
}

TEST_F(AttackSandbox, NewNamespacesAreRefused) {
  constexpr std::array<std::uint64_t, 8> kFlags = {
      CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWPID,    CLONE_NEWNET,
      CLONE_NEWIPC,  CLONE_NEWUTS, CLONE_NEWCGROUP, CLONE_NEWUSER | CLONE_NEWNS};
  for (const Sandbox& sandbox : sandboxes()) {
    for (const std::uint64_t flag : kFlags) {
      const Json seen = attack("clones", {{"flag", flag}}, sandbox);
      EXPECT_EQ(seen["clone"], EPERM) << flag;
      EXPECT_EQ(seen["clone3"], ENOSYS) << flag;
      EXPECT_EQ(seen["unshare"], EPERM) << flag;
    }
    // A process whose parent is the supervisor would not be found with those of the tool.
    EXPECT_EQ(attack("clones", {{"flag", CLONE_PARENT}}, sandbox)["clone"], EPERM);
    EXPECT_EQ(attack("clones", {{"flag", 0}}, sandbox)["clone"], 0);
  }
}

struct Call {
  const char* name;
  long number;
  Json arguments;
};

bool is_refusal(const Json& error) { return error == ENOSYS || error == EPERM || error == EACCES || error == EROFS; }

void expect_refused(const std::vector<Call>& calls, const Sandbox& sandbox) {
  Json list = Json::array();
  for (const Call& call : calls) list.push_back({{"number", call.number}, {"arguments", call.arguments}});
  const Json errors = called(system_calls_tool(), {{"calls", list}}, sandbox);
  ASSERT_EQ(errors.size(), calls.size()) << errors;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_TRUE(is_refusal(errors[i])) << shown(sandbox) << ": " << calls[i].name << " gave " << errors[i];
  }
}

// Numbers from 424 on are the same on every architecture.
TEST_F(AttackSandbox, ReadOnlyRefusesEveryChangeOfAttributes) {
  const std::string target = file("target");
  constexpr long kHere = AT_FDCWD;
  const Json no_value = {{"bytes", {0, 0, 0, 0}}};
  const Json attributes = {{"bytes", {0, 0, 0, 0, 0, 0}}};
  std::vector<Call> calls = {
      {"fchmodat2", 452, {kHere, target, 0777, 0}},
      {"setxattrat", 463, {kHere, target, 0, "user.x", no_value, 16}},
      {"removexattrat", 466, {kHere, target, 0, "user.x"}},
      {"file_setattr", 469, {kHere, target, attributes, 24, 0}},
      {"fchmodat", SYS_fchmodat, {kHere, target, 0777}},
      {"fchownat", SYS_fchownat, {kHere, target, getuid(), getgid(), 0}},
      {"setxattr", SYS_setxattr, {target, "user.x", "v", 1, 0}},
      {"removexattr", SYS_removexattr, {target, "user.x"}},
      {"utimensat", SYS_utimensat, {kHere, target, 0, 0}},
      {"truncate", SYS_truncate, {target, 0}},
      {"unlinkat", SYS_unlinkat, {kHere, target, 0}},
  };
#ifdef __x86_64__
  calls.push_back({"chmod", SYS_chmod, {target, 0777}});
  calls.push_back({"utimes", SYS_utimes, {target, 0}});
#endif
  const mode_t mode = fs::exists(target) ? static_cast<mode_t>(fs::status(target).permissions()) : 0;
  expect_refused(calls, {.read_only = true});
  expect_refused(calls, {.network = false, .read_only = true});
  EXPECT_EQ(static_cast<mode_t>(fs::status(target).permissions()), mode);
  const Json flags = attack("file_flags", {{"file", target}}, {.read_only = true});
  EXPECT_EQ(flags["open"], 0);
  for (const char* way : {"setflags", "setflags with a high bit", "fssetxattr"}) {
    EXPECT_TRUE(is_refusal(flags[way])) << way << " gave " << flags[way];
  }
}

TEST_F(AttackSandbox, WaysAroundASandboxAreRefused) {
  const Json zeros = {{"bytes", std::vector<int>(64)}};
  const std::vector<Call> calls = {
      {"mount", SYS_mount, {"none", "/tmp", "tmpfs", 0, 0}},
      {"umount2", SYS_umount2, {"/no/such", 0}},
      {"pivot_root", SYS_pivot_root, {"/", "/"}},
      {"chroot", SYS_chroot, {"/"}},
      {"open_tree", 428, {AT_FDCWD, "/", 0}},
      {"move_mount", 429, {AT_FDCWD, "/", AT_FDCWD, "/", 0}},
      {"fsopen", 430, {"tmpfs", 0}},
      {"fsconfig", 431, {-1, 0, 0, 0, 0}},
      {"fsmount", 432, {-1, 0, 0}},
      {"fspick", 433, {AT_FDCWD, "/", 0}},
      {"mount_setattr", 442, {AT_FDCWD, "/", 0, zeros, 32}},
      {"open_tree_attr", 467, {AT_FDCWD, "/", 0, zeros, 32}},
      {"setns", SYS_setns, {-1, 0}},
      {"ptrace", SYS_ptrace, {0, 0, 0, 0}},
      {"process_madvise", 440, {-1, 0, 0, 0, 0}},
      {"pidfd_getfd", 438, {-1, 0, 0}},
      {"kcmp", SYS_kcmp, {getpid(), getpid(), 0, 0, 0}},
      {"bpf", SYS_bpf, {0, zeros, 64}},
      {"perf_event_open", SYS_perf_event_open, {zeros, 0, -1, -1, 0}},
      {"userfaultfd", SYS_userfaultfd, {0}},
      {"keyctl", SYS_keyctl, {0, -3, 0}},
      {"add_key", SYS_add_key, {"user", "x", "y", 1, -3}},
      {"open_by_handle_at", SYS_open_by_handle_at, {AT_FDCWD, zeros, 0}},
      {"io_uring_setup", 425, {4, zeros}},
      {"io_uring_enter", 426, {-1, 0, 0, 0, 0, 0}},
      {"io_uring_register", 427, {-1, 0, 0, 0}},
      {"shmget", SYS_shmget, {0, 4096, 0600}},
      {"msgget", SYS_msgget, {0, 0600}},
      {"mq_open", SYS_mq_open, {"x", O_RDONLY, 0, 0}},
      {"syslog", SYS_syslog, {10, 0, 0}},
      {"prctl(PR_SET_MM)", SYS_prctl, {35, 1, 0, 0, 0}},
      {"prctl(PR_SET_PTRACER)", SYS_prctl, {0x59616d61, -1, 0, 0, 0}},
      {"ioctl(TIOCSTI)", SYS_ioctl, {0, 0x5412, "x"}},
      {"ioctl(TIOCLINUX)", SYS_ioctl, {0, 0x541C, "x"}},
      {"ioctl(TIOCSTI) with a high bit", SYS_ioctl, {0, 0x100005412, "x"}},
      // Known to the kernel, not to the list.
      {"statmount", 457, {zeros, zeros, 64, 0}},
      {"listmount", 458, {zeros, zeros, 8, 0}},
      {"lsm_get_self_attr", 459, {100, zeros, zeros, 0}},
      {"600", 600, {0}},
      {"1000", 1000, {0}},
      {"1073741823", 1073741823, {0}},
  };
  for (const Sandbox& sandbox : sandboxes()) expect_refused(calls, sandbox);
}

TEST_F(AttackSandbox, WithoutNetworkNoSocketCallIsLeft) {
  const std::vector<Call> calls = {
      {"socket", SYS_socket, {AF_INET, SOCK_STREAM, 0}},
      {"socket(AF_UNIX)", SYS_socket, {AF_UNIX, SOCK_STREAM, 0}},
      {"socket(AF_NETLINK)", SYS_socket, {AF_NETLINK, SOCK_RAW, 0}},
      {"connect", SYS_connect, {3, "\x01", 2}},
      {"bind", SYS_bind, {3, "\x01", 2}},
      {"listen", SYS_listen, {3, 1}},
      {"accept", SYS_accept, {3, 0, 0}},
      {"accept4", SYS_accept4, {3, 0, 0, 0}},
      {"socketpair(AF_TIPC)", SYS_socketpair, {30, SOCK_STREAM, 0, {{"bytes", {0, 0}}}}},
      {"socketpair(SOCK_DGRAM)", SYS_socketpair, {AF_UNIX, SOCK_DGRAM, 0, {{"bytes", {0, 0}}}}},
      {"socketpair(SOCK_DGRAM | SOCK_CLOEXEC)",
       SYS_socketpair,
       {AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, {{"bytes", {0, 0}}}}},
      {"socketpair(SOCK_DGRAM) with a high bit",
       SYS_socketpair,
       {AF_UNIX, SOCK_DGRAM | (1L << 32), 0, {{"bytes", {0, 0}}}}},
  };
  expect_refused(calls, {.network = false});
  expect_refused(calls, {.network = false, .read_only = true});
}

TEST_F(AttackSandbox, OtherArchitecturesAreRefused) {
  for (const Sandbox& sandbox : sandboxes()) {
    const Json answers = attack("foreign", Json::object(), sandbox);
    for (const auto& [way, ended] : answers.items()) {
      EXPECT_EQ(ended, "refused") << shown(sandbox) << ": " << way;
    }
  }
}

TEST_F(AttackSandbox, RootLosesItsPowersOverTheMachine) {
  if (geteuid() != 0) GTEST_SKIP() << "only root has them";
  const std::string device = (folder_ / "device").string();
  std::vector<Call> calls = {{"mknod of a device", SYS_mknodat, {AT_FDCWD, device, S_IFCHR | 0600, 0x0101}},
                             {"sethostname", SYS_sethostname, {"x", 1}}};
  for (const char* path : {"/proc/kcore", "/dev/mem"}) {
    if (fs::exists(path)) calls.push_back({path, SYS_openat, {AT_FDCWD, path, O_RDONLY}});
  }
  expect_refused(calls, {.network = false});
}

// A program of the table: the same output in every sandbox as without one.
struct Program {
  const char* needs;  // the program that must be installed
  const char* script;
  // It changes attributes of files, or opens a terminal; both are refused with read_only.
  bool needs_attributes = false;
};

bool is_installed(const std::string& program) {
  // NOLINTNEXTLINE(bugprone-command-processor,cert-env33-c)
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

// Each runs in a folder of its own, which is writable.
const std::vector<Program>& ordinary_programs() {
  static const auto* const all = new std::vector<Program>{
      {"sh", "x=0; for i in 1 2 3; do x=$((x + i)); done; echo $x | cat; (exit 3); echo $?; kill -0 $$ && echo alive"},
      {"sh", "trap 'echo caught' USR1; kill -USR1 $$; sleep 0.01 & wait $!; echo waited; ulimit -n 100; ulimit -n"},
      {"bash", "set -o pipefail; a=(1 2 3); echo ${a[@]} | rev; cat <(echo one) <(echo two); printf '%(%Y)T' 0"},
      {"sort", "seq 20000 | sort -R --random-source=/dev/zero | sort -n --parallel=2 | tail -1"},
      {"find", "mkdir -p a/b; echo 1 > a/b/c; find . -type f -exec cat {} +; find a -name c -delete; find a | sort"},
      {"awk", "printf '1 2\n3 4\n' | awk '{s += $1 * $2} END {print s; system(\"echo sub\")}'"},
      {"sed", "echo one > f; sed -i s/one/two/ f; cat f; grep -c two f; wc -c < f; head -c 2 f | od -c | head -1"},
      {"tar",
       "mkdir d; echo 1 > d/x; tar -cf t.tar d; tar -tf t.tar; tar -xOf t.tar d/x; gzip -c t.tar | gunzip | cksum >&2"},
      {"cp",
       "echo 1 > f; cp f g; mv g h; ln -s h l; cat l; ln h k; rm f; ls; mkfifo p; (echo x > p &); cat p; stat -c %s h"},
      {"xargs",
       "seq 5 | xargs -P2 -I{} echo {} | sort; echo a b | tr a-z A-Z; date -u -d @0; id -u; nice -n 1 true; nproc "
       "--all >&2"},
      {"git",
       "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one && echo 1 > f && "
       "git add f && git -c user.name=a -c user.email=a@b commit -q -m two && git log --format=%s && git status -s",
       true},
      {"gcc", "printf '#include <stdio.h>\nint main(void){puts(\"hi\");return 0;}\n' > m.c && gcc -o m m.c && ./m",
       true},
      {"/usr/bin/python3",
       "/usr/bin/python3 - <<'END'\n"
       "import threading, subprocess, socket, os, select, tempfile, time, signal, hashlib, mmap, shutil\n"
       "t = [threading.Thread(target=lambda i=i: None) for i in range(8)]\n"
       "[x.start() for x in t]; [x.join() for x in t]\n"
       "print(subprocess.run(['echo', 'sub'], capture_output=True, text=True).stdout)\n"
       "print(subprocess.check_output('echo shell | cat', shell=True))\n"
       "a, b = socket.socketpair(); a.sendall(b'pair'); print(b.recv(4))\n"
       "p = select.epoll(); p.register(b.fileno(), select.EPOLLIN); a.send(b'x'); print(len(p.poll(5)))\n"
       "pid = os.fork()\n"
       "if pid == 0: os._exit(7)\n"
       "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
       "f = tempfile.NamedTemporaryFile(dir='.'); f.write(b'1'); f.flush(); print(os.path.getsize(f.name))\n"
       "m = mmap.mmap(-1, 4096); m[0] = 1; print(m[0], len(os.urandom(8)), os.sched_getaffinity(0) != set())\n"
       "signal.setitimer(signal.ITIMER_REAL, 0.01); signal.signal(signal.SIGALRM, lambda *a: print('alarm')); "
       "time.sleep(0.05)\n"
       "fd = os.memfd_create('m'); os.write(fd, b'abc'); print(os.fstat(fd).st_size)\n"
       "print(os.get_terminal_size.__name__, os.isatty(0), os.getpriority(os.PRIO_PROCESS, 0))\n"
       "END\n"},
      {"/usr/bin/python3",
       "/usr/bin/python3 - <<'END'\n"
       "import asyncio, multiprocessing, concurrent.futures\n"
       "async def main():\n"
       "  p = await asyncio.create_subprocess_exec('echo', 'async', stdout=asyncio.subprocess.PIPE)\n"
       "  print((await p.communicate())[0]); await asyncio.sleep(0.01)\n"
       "asyncio.run(main())\n"
       "with concurrent.futures.ThreadPoolExecutor() as e: print(list(e.map(str, range(3))))\n"
       "c = multiprocessing.get_context('fork'); a, b = c.Pipe(); p = c.Process(target=lambda: b.send(5)); p.start()\n"
       "print(a.recv()); p.join(); print(p.exitcode)\n"
       "END\n"},
      {"node",
       "node -e 'const c=require(\"child_process\");console.log(c.execSync(\"echo sub\")+\"\");"
       "require(\"fs\").readFile(\"/etc/"
       "passwd\",(e,d)=>console.log(!e&&d.length>0));setTimeout(()=>console.log(1),200)'"},
      {"perl",
       "perl -e 'print join(\",\", map { $_ * 2 } 1 .. 3), \"\\n\"; print `echo sub`; my $p = fork; exit 4 unless $p; "
       "waitpid $p, 0; print $? >> 8'"},
      {"xz", "seq 100 | xz | xz -d | tail -1; seq 10 | bzip2 | bzip2 -d | head -1"},
      {"file",
       "file -b /bin/sh >/dev/null && echo known; cmp /etc/passwd /etc/passwd && diff /etc/passwd /etc/passwd && echo "
       "same"},
      {"timeout",
       "timeout 5 sleep 0.01; echo $?; timeout 0.05 sleep 5; echo $?; env -i /bin/echo clean; setsid -w echo session"},
      {"script", "script -qec 'test -t 0 && echo terminal' /dev/null </dev/null", true},
      {"install",
       "echo 1 > f; chmod 700 f; stat -c %a f; install -m 600 f g; touch -d @0 g; stat -c %a,%Y g; tar -cf t f g; "
       "rm f g; tar -xpf t; stat -c %a,%Y g",
       true},
  };
  return *all;
}

TEST_F(AttackSandbox, OrdinaryProgramsStillWork) {
  int count = 0;
  for (const Program& program : ordinary_programs()) {
    if (!is_installed(program.needs)) continue;
    const auto run = [&](Sandbox sandbox) {
      const fs::path folder = folder_ / std::to_string(++count);
      fs::create_directories(folder);
      if (sandbox.read_only) sandbox.writable = {folder.string()};
      std::ofstream(folder_ / "script") << "export TMPDIR=$PWD HOME=$PWD\n" << program.script << "\n";
      const std::string shell = std::string(program.needs) == "bash" ? "bash" : "sh";
      const Tool tool{.name = "program",
                      .command = Command{.argv = {shell, "../script"}, .directory = folder.string()}};
      return called(tool, Json::object(), sandbox, Engine());
    };
    const Json expected = run({});
    EXPECT_FALSE(contains(expected, "handler_exit")) << program.script << "\n" << expected;
    // The strictest one first; the long form tries the others as well.
    const Sandbox strictest{.network = false, .read_only = !program.needs_attributes};
    EXPECT_EQ(run(strictest), expected) << shown(strictest) << program.script;
    for (const Sandbox& sandbox : cases(1) > 1 ? sandboxes() : std::vector<Sandbox>()) {
      if (sandbox.read_only && program.needs_attributes) continue;
      EXPECT_EQ(run(sandbox), expected) << shown(sandbox) << program.script;
    }
  }
}

TEST_F(AttackSandbox, AWorkerInASandboxStillRunsCommands) {
  for (const Sandbox& sandbox : sandboxes()) {
    const Tool tool{.name = "run_nested", .handler = [](const Json&) { return ok(0); }, .lane = Lane::worker};
    EXPECT_EQ(called(tool, Json::object(), sandbox), "from below") << shown(sandbox);
    EXPECT_EQ(called(tool, Json::object(), sandbox, Engine()), "from below") << shown(sandbox);
  }
}

// A runtime of its own, so that its supervisor starts with the environment of now.
class WithKeys {
 public:
  explicit WithKeys(const RuntimeOptions& options = {}) {
    for (const char* name : names()) setenv(name, (std::string(kSecret) + name).c_str(), 1);
    setenv("ALLM_TEST_PLAIN", "plain-value", 1);
    setenv("ALLM_TEST_DATABASE", (std::string("postgres://user:") + kSecret + "@host/db").c_str(), 1);
    engine_ = Engine({.runtime = Runtime::create(without_namespaces(options))});
  }
  WithKeys(const WithKeys&) = delete;
  WithKeys& operator=(const WithKeys&) = delete;
  ~WithKeys() {
    for (const char* name : names()) unsetenv(name);
    unsetenv("ALLM_TEST_PLAIN");
    unsetenv("ALLM_TEST_DATABASE");
  }
  const Engine& engine() const { return engine_; }
  static std::vector<const char*> names() {
    return {"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY",        "AZURE_OPENAI_API_KEY",
            "my_api_key",     "GITHUB_TOKEN",      "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD"};
  }

 private:
  Engine engine_;
};

TEST(AttackKeys, WorkersDoNotInheritThem) {
  const WithKeys keys;
  for (const Sandbox& sandbox : {Sandbox{}, Sandbox{.network = false}}) {
    const Json seen = called(environment_tool(), Json::object(), sandbox, keys.engine());
    EXPECT_TRUE(contains(seen["own"], "ALLM_TEST_PLAIN=plain-value")) << seen;
    EXPECT_FALSE(contains(seen["own"], kSecret)) << seen["own"];
    EXPECT_TRUE(sandbox.network || seen["ancestors"].get<std::string>().empty()) << seen["ancestors"];
  }
}

// The program's own environment keeps the keys. Its file in /proc was made by the kernel at its start, so this test
// looks at the supervisor, which was started after the keys were set.
TEST(AttackKeys, TheSupervisorDoesNotHoldThem) {
  const WithKeys keys;
  called(environment_tool(), Json::object(), {}, keys.engine());
  int supervisors = 0;
  for (const pid_t pid : descendants(getpid())) {
    if (!name_of(pid).starts_with("allm-")) continue;
    ++supervisors;
    std::ifstream file("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
    const std::string environment{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(environment.find(kSecret), std::string::npos) << name_of(pid);
    if (geteuid() != 0 && name_of(pid) == "allm-supervisor") {
      EXPECT_TRUE(environment.empty());
    }
  }
  EXPECT_GE(supervisors, 1);
}

TEST(AttackKeys, CommandsDoNotInheritThem) {
  const WithKeys keys;
  const Tool tool{.name = "env", .command = Command{.argv = {"sh", "-c", "env; cat /proc/$PPID/environ; true"}}};
  const Json seen = called(tool, Json::object(), {}, keys.engine());
  EXPECT_TRUE(contains(seen, "PATH=")) << seen;
  EXPECT_FALSE(contains(seen, kSecret)) << seen;
}

TEST(AttackKeys, AWorkerGetsThoseThatTheProgramNames) {
  const WithKeys keys({.worker_secrets = {"OPENAI_API_KEY", "ALLM_NO_SUCH_VARIABLE"}});
  const Json seen = called(environment_tool(), Json::object(), {}, keys.engine());
  EXPECT_TRUE(contains(seen["own"], std::string("OPENAI_API_KEY=") + kSecret)) << seen["own"];
  EXPECT_FALSE(contains(seen["own"], "ANTHROPIC_API_KEY")) << seen["own"];
}

TEST(AttackKeys, EveryVariableOfAProviderCountsAsASecret) {
  for (const OpenAiPreset& preset : openai_presets()) {
    EXPECT_TRUE(is_secret_variable(preset.key_variable, "")) << preset.key_variable;
  }
  for (const char* name : {"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"}) {
    EXPECT_TRUE(is_secret_variable(name, "")) << name;
  }
}

// Reads the environment and a number of the program, as any command without a sandbox can try.
Json reads_of_a_command(const Engine& engine) {
  const std::string script = "p=/proc/" + std::to_string(getpid()) +
                             "; cat $p/environ >/dev/null 2>&1 && echo environ; " +
                             "(exec 3<$p/mem) 2>/dev/null && echo mem; ls $p/fd >/dev/null 2>&1 && echo fd; true";
  return called({.name = "reads", .command = Command{.argv = {"sh", "-c", script}}}, Json::object(), {}, engine);
}

TEST(AttackMemory, CommandsWithoutASandboxAreKeptFromIt) {
  if (geteuid() == 0) GTEST_SKIP() << "a command of root can open every process";
  if (kSanitized) GTEST_SKIP() << "a sanitizer traces its own process";
  const Engine engine({.runtime = Runtime::create(without_namespaces())});
  EXPECT_EQ(reads_of_a_command(engine), "");
}

TEST(AttackMemory, TheProgramIsProtectedOnlyWhileItHasLanes) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer traces its own process";
  const auto status_with = [](const char* option) {
    const std::string line = std::string(ALLM_MISBEHAVE) + " dumpable " + option;
    return WEXITSTATUS(std::system(line.c_str()));  // NOLINT(bugprone-command-processor,cert-env33-c)
  };
  EXPECT_EQ(status_with("protected"), 101);
  EXPECT_EQ(status_with("open"), 111);
}

}  // namespace
}  // namespace allm::testing::sandbox_attack_test
