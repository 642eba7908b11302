#include "process/call_filter.hpp"

#include <algorithm>
#include <array>
#include <asm/ioctls.h>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <linux/bpf_common.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/prctl.h>
#include <linux/sockios.h>
#include <memory>
#include <new>
#include <sched.h>
#include <seccomp.h>
#include <span>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "process/allowed_calls.hpp"
#include "process/fd.hpp"

namespace allm {
namespace {

using Context = std::unique_ptr<void, decltype(&seccomp_release)>;
constexpr std::uint64_t kLowHalf = 0xffffffff;  // of an argument that the kernel reads as 32 bits

// Adds rules to a filter. A rule that libseccomp refuses leaves its call refused, which is the safe side.
class Rules {
 public:
  explicit Rules(scmp_filter_ctx context) : context_(context) {}

  void allow(std::span<const char* const> names) {
    for (const char* name : names) add(SCMP_ACT_ALLOW, name, {});
  }
  void refuse_all(std::span<const char* const> names, int error) {
    for (const char* name : names) refuse(name, error);
  }
  void allow_if(const char* name, const std::vector<scmp_arg_cmp>& conditions) {
    add(SCMP_ACT_ALLOW, name, conditions);
  }
  void refuse(const char* name, int error, const std::vector<scmp_arg_cmp>& conditions = {}) {
    add(SCMP_ACT_ERRNO(static_cast<unsigned>(error)), name, conditions);
  }
  // Allows the call only if an argument has this value.
  void require(const char* name, unsigned argument, std::uint64_t value, int error) {
    allow_if(name, {{argument, SCMP_CMP_EQ, value, 0}});
    refuse(name, error, {{argument, SCMP_CMP_NE, value, 0}});
  }

 private:
  void add(std::uint32_t action, const char* name, const std::vector<scmp_arg_cmp>& conditions) {
    const int call = seccomp_syscall_resolve_name(name);
    if (call == __NR_SCMP_ERROR) return;
    seccomp_rule_add_array(context_, action, call, static_cast<unsigned>(conditions.size()), conditions.data());
  }
  const scmp_filter_ctx context_;
};

// Flags of clone that make a process of another namespace, or a child of another process.
void add_clone(Rules& rules) {
  constexpr std::array<std::uint64_t, 8> kRefused = {CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                                                     CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET, CLONE_PARENT};
  std::uint64_t all = 0;
  for (const std::uint64_t flag : kRefused) all |= flag;
  rules.allow_if("clone", {{0, SCMP_CMP_MASKED_EQ, all, 0}});
  for (const std::uint64_t flag : kRefused) rules.refuse("clone", EPERM, {{0, SCMP_CMP_MASKED_EQ, flag, flag}});
  // The flags of clone3 are in memory, where a filter cannot read them. Libraries fall back to clone.
}

// Requests for terminals, and for files that the process has open. An unknown request of a device could be anything.
void add_ioctl(Rules& rules) {
  // TCGETS2, TCSETS2, TCSETSW2 and TCSETSF2, whose header conflicts with that of the C library.
  constexpr std::array<std::uint64_t, 4> kTermios2 = {0x802C542A, 0x402C542B, 0x402C542C, 0x402C542D};
  constexpr std::array<std::uint64_t, 41> kAllowed = {TCGETS,
                                                      TCSETS,
                                                      TCSETSW,
                                                      TCSETSF,
                                                      TCGETA,
                                                      TCSETA,
                                                      TCSETAW,
                                                      TCSETAF,
                                                      TCSBRK,
                                                      TCXONC,
                                                      TCFLSH,
                                                      TCSBRKP,
                                                      TIOCGWINSZ,
                                                      TIOCSWINSZ,
                                                      TIOCGPGRP,
                                                      TIOCSPGRP,
                                                      TIOCGSID,
                                                      TIOCSCTTY,
                                                      TIOCNOTTY,
                                                      TIOCOUTQ,
                                                      TIOCEXCL,
                                                      TIOCNXCL,
                                                      TIOCGPTN,
                                                      TIOCSPTLCK,
                                                      TIOCGPTPEER,
                                                      FIONREAD,
                                                      FIONBIO,
                                                      FIOASYNC,
                                                      FIOCLEX,
                                                      FIONCLEX,
                                                      FIOQSIZE,
                                                      FS_IOC_GETFLAGS,
                                                      FS_IOC_FSGETXATTR,
                                                      FS_IOC_GETVERSION,
                                                      FS_IOC_FIEMAP,
                                                      FICLONE,
                                                      FICLONERANGE,
                                                      FIDEDUPERANGE,
                                                      BLKGETSIZE64,
                                                      BLKSSZGET,
                                                      SIOCATMARK};
  const auto allow = [&](std::uint64_t request) {
    rules.allow_if("ioctl", {{1, SCMP_CMP_MASKED_EQ, kLowHalf, request}});
  };
  for (const std::uint64_t request : kTermios2) allow(request);
  for (const std::uint64_t request : kAllowed) allow(request);
  for (const std::uint64_t request :
       {std::uint64_t{TIOCSTI}, std::uint64_t{TIOCLINUX}, std::uint64_t{TIOCSETD}, std::uint64_t{FS_IOC_SETFLAGS},
        std::uint64_t{FS_IOC_FSSETXATTR}, std::uint64_t{FS_IOC_SETVERSION}}) {
    rules.refuse("ioctl", EPERM, {{1, SCMP_CMP_MASKED_EQ, kLowHalf, request}});
  }
}

// Requests about network interfaces.
void add_network_ioctl(Rules& rules) {
  constexpr std::array<std::uint64_t, 11> kAllowed = {SIOCGIFNAME,    SIOCGIFCONF,    SIOCGIFFLAGS,   SIOCGIFADDR,
                                                      SIOCGIFDSTADDR, SIOCGIFBRDADDR, SIOCGIFNETMASK, SIOCGIFMTU,
                                                      SIOCGIFHWADDR,  SIOCGIFINDEX,   SIOCGIFTXQLEN};
  for (const std::uint64_t request : kAllowed) {
    rules.allow_if("ioctl", {{1, SCMP_CMP_MASKED_EQ, kLowHalf, request}});
  }
}

// Options that concern only the calling process. Numbers are those of newer headers.
void add_prctl(Rules& rules) {
  constexpr std::uint64_t kSetVma = 0x53564d41;
  constexpr std::uint64_t kSetPtracer = 0x59616d61;
  constexpr std::uint64_t kSetMdwe = 65;
  constexpr std::uint64_t kGetMdwe = 66;
  constexpr std::array<std::uint64_t, 37> kAllowed = {PR_SET_PDEATHSIG,
                                                      PR_GET_PDEATHSIG,
                                                      PR_GET_DUMPABLE,
                                                      PR_SET_DUMPABLE,
                                                      PR_GET_KEEPCAPS,
                                                      PR_SET_KEEPCAPS,
                                                      PR_GET_TIMING,
                                                      PR_SET_TIMING,
                                                      PR_SET_NAME,
                                                      PR_GET_NAME,
                                                      PR_GET_SECCOMP,
                                                      PR_SET_SECCOMP,
                                                      PR_CAPBSET_READ,
                                                      PR_CAPBSET_DROP,
                                                      PR_GET_SECUREBITS,
                                                      PR_SET_TIMERSLACK,
                                                      PR_GET_TIMERSLACK,
                                                      PR_SET_CHILD_SUBREAPER,
                                                      PR_GET_CHILD_SUBREAPER,
                                                      PR_SET_NO_NEW_PRIVS,
                                                      PR_GET_NO_NEW_PRIVS,
                                                      PR_GET_TID_ADDRESS,
                                                      PR_SET_THP_DISABLE,
                                                      PR_GET_THP_DISABLE,
                                                      PR_CAP_AMBIENT,
                                                      PR_SVE_SET_VL,
                                                      PR_SVE_GET_VL,
                                                      PR_GET_SPECULATION_CTRL,
                                                      PR_SET_SPECULATION_CTRL,
                                                      PR_PAC_RESET_KEYS,
                                                      PR_SET_TAGGED_ADDR_CTRL,
                                                      PR_GET_TAGGED_ADDR_CTRL,
                                                      PR_GET_TSC,
                                                      PR_GET_FPEMU,
                                                      kSetVma,
                                                      kSetMdwe,
                                                      kGetMdwe};
  for (const std::uint64_t option : kAllowed) rules.allow_if("prctl", {{0, SCMP_CMP_EQ, option, 0}});
  for (const std::uint64_t option : {std::uint64_t{PR_SET_MM}, kSetPtracer, std::uint64_t{PR_SET_SECUREBITS}}) {
    rules.refuse("prctl", EPERM, {{0, SCMP_CMP_MASKED_EQ, kLowHalf, option}});
  }
}

// Truncation without opening for writing: truncate, and O_TRUNC with O_RDONLY or with 3, which is neither reading nor
// writing. The flags of openat2 are in memory, so it gives ENOSYS.
void add_checked_opening(Rules& rules) {
  constexpr std::uint64_t kAccess = O_ACCMODE | O_TRUNC;
  for (const auto& [name, flags] : {std::pair("open", 1U), std::pair("openat", 2U)}) {
    rules.allow_if(name, {{flags, SCMP_CMP_MASKED_EQ, O_TRUNC, 0}});
    for (const std::uint64_t access : {O_WRONLY, O_RDWR}) {
      rules.allow_if(name, {{flags, SCMP_CMP_MASKED_EQ, kAccess, access | O_TRUNC}});
    }
    for (const std::uint64_t access : {O_RDONLY, O_ACCMODE}) {
      rules.refuse(name, EROFS, {{flags, SCMP_CMP_MASKED_EQ, kAccess, access | O_TRUNC}});
    }
  }
  rules.refuse_all(std::array{"truncate", "truncate64"}, EROFS);
}

// Limits and scheduling: of the calling thread only, which 0 stands for.
void add_scheduling(Rules& rules) {
  for (const char* name : {"prlimit64", "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler"}) {
    rules.require(name, 0, 0, EPERM);
  }
  constexpr std::uint64_t kIoPrioritiesOfProcess = 1;
  for (const auto& [name, which] :
       {std::pair("setpriority", std::uint64_t{PRIO_PROCESS}), std::pair("ioprio_set", kIoPrioritiesOfProcess)}) {
    rules.allow_if(name, {{0, SCMP_CMP_EQ, which, 0}, {1, SCMP_CMP_EQ, 0, 0}});
    rules.refuse(name, EPERM, {{0, SCMP_CMP_NE, which, 0}});
    rules.refuse(name, EPERM, {{1, SCMP_CMP_NE, 0, 0}});
  }
  // Personalities that change the shape of the own address space at most; the last one asks for the present one.
  for (const std::uint64_t personality : {0x0ULL, 0x8ULL, 0x20000ULL, 0x20008ULL, 0x40000ULL, 0xffffffffULL}) {
    rules.allow_if("personality", {{0, SCMP_CMP_EQ, personality, 0}});
  }
}

// Pairs of stream sockets are the only sockets that a process without network can make: they are connected for good, so
// that no address given to them is used. A datagram pair could send to, and connect to, every local socket.
void add_pairs(Rules& rules) {
  constexpr std::uint64_t kTypeMask = 0xf;  // of the kernel
  rules.allow_if("socketpair", {{0, SCMP_CMP_EQ, AF_UNIX, 0}, {1, SCMP_CMP_MASKED_EQ, kTypeMask, SOCK_STREAM}});
  rules.refuse("socketpair", EACCES, {{0, SCMP_CMP_NE, AF_UNIX, 0}});
  for (std::uint64_t type = 0; type <= kTypeMask; ++type) {
    if (type != SOCK_STREAM) rules.refuse("socketpair", EACCES, {{1, SCMP_CMP_MASKED_EQ, kTypeMask, type}});
  }
  rules.require("sendto", 4, 0, EACCES);
  rules.refuse_all(std::array{"socket", "connect", "bind", "listen", "accept", "accept4"}, EACCES);
}

// A filter in memory that processes share. Whichever process makes the filter first writes it; the others read it.
class SharedFilter {
 public:
  bool is_made() const { return state_.load(std::memory_order_acquire) == State::made; }
  std::span<const sock_filter> filter() const { return std::span(code_).first(size_); }
  // If another process is writing, or was killed while it wrote, the caller keeps its filter to itself.
  void offer(std::span<const sock_filter> filter) {
    State expected = State::empty;
    if (filter.empty() || filter.size() > code_.size()) return;
    if (!state_.compare_exchange_strong(expected, State::being_written)) return;
    std::ranges::copy(filter, code_.begin());
    size_ = filter.size();
    state_.store(State::made, std::memory_order_release);
  }

 private:
  enum class State : std::uint8_t { empty, being_written, made };
  static_assert(std::atomic<State>::is_always_lock_free);
  std::atomic<State> state_;
  std::size_t size_;
  std::array<sock_filter, BPF_MAXINSNS> code_;
};
constexpr std::size_t kFilterKinds = 8;
using SharedFilters = std::array<SharedFilter, kFilterKinds>;

// Shared with the children that this process forks after the first call; never unmapped. Null if there is no memory.
SharedFilters* shared_filters() {
  static auto* const filters = [] {
    void* const memory =
        mmap(nullptr, sizeof(SharedFilters), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : new (memory) SharedFilters;
  }();
  return filters;
}

std::vector<sock_filter> exported(scmp_filter_ctx context) {
  const Fd file(memfd_create("filter", MFD_CLOEXEC));
  if (!file || seccomp_export_bpf(context, file.get()) != 0) return {};
  struct stat facts{};
  if (fstat(file.get(), &facts) != 0) return {};
  std::vector<sock_filter> filter(static_cast<std::size_t>(facts.st_size) / sizeof(sock_filter));
  const auto bytes = static_cast<ssize_t>(filter.size() * sizeof(sock_filter));
  if (pread(file.get(), filter.data(), static_cast<std::size_t>(bytes), 0) != bytes) return {};
  return filter;
}

std::vector<sock_filter> make_filter(const Sandbox& sandbox, bool refuse_truncation) {
  const Context context(seccomp_init(SCMP_ACT_ERRNO(ENOSYS)), &seccomp_release);
  if (!context) return {};
  if (seccomp_attr_set(context.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) != 0) return {};
  // A tree instead of a list: the kernel needs less time to take the filter. Libraries that are too old keep the list.
  seccomp_attr_set(context.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
  Rules rules(context.get());
  rules.allow(kAllowedCalls);
  rules.refuse_all(kRefusedCalls, EPERM);
  add_clone(rules);
  add_ioctl(rules);
  add_prctl(rules);
  add_scheduling(rules);
  if (refuse_truncation) {
    add_checked_opening(rules);
  } else {
    rules.allow(kTruncatingCalls);
  }
  if (sandbox.network) {
    rules.allow(kNetworkCalls);
    add_network_ioctl(rules);
  } else {
    add_pairs(rules);
  }
  if (sandbox.read_only) {
    rules.refuse_all(kAttributeCalls, EROFS);
  } else {
    rules.allow(kAttributeCalls);
  }
  return exported(context.get());
}

}  // namespace

void share_call_filters() { shared_filters(); }

std::span<const sock_filter> call_filter(const Sandbox& sandbox, bool refuse_truncation) {
  static auto* const own_filters = new std::array<std::vector<sock_filter>, kFilterKinds>();
  const unsigned kind = (sandbox.network ? 1U : 0U) + (sandbox.read_only ? 2U : 0U) + (refuse_truncation ? 4U : 0U);
  std::vector<sock_filter>& own = own_filters->at(kind);
  if (!own.empty()) return own;
  SharedFilters* const shared = shared_filters();
  if (shared != nullptr && shared->at(kind).is_made()) return shared->at(kind).filter();
  own = make_filter(sandbox, refuse_truncation);
  if (shared != nullptr) shared->at(kind).offer(own);
  return own;
}

}  // namespace allm
