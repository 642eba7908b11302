#include "process/sandbox.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <memory>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace allm {
namespace {

using Context = std::unique_ptr<void, decltype(&seccomp_release)>;

// Ways around a sandbox: into other processes, other namespaces, and to what seccomp does not see.
constexpr std::array kEscapes = {
    SCMP_SYS(ptrace),
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev),
    SCMP_SYS(pidfd_getfd),
    SCMP_SYS(mount),
    SCMP_SYS(umount2),
    SCMP_SYS(pivot_root),
    SCMP_SYS(move_mount),
    SCMP_SYS(open_tree),
    SCMP_SYS(fsopen),
    SCMP_SYS(setns),
    SCMP_SYS(unshare),
    SCMP_SYS(bpf),
    SCMP_SYS(perf_event_open),
    SCMP_SYS(userfaultfd),
    SCMP_SYS(keyctl),
    SCMP_SYS(add_key),
    SCMP_SYS(request_key),
    SCMP_SYS(init_module),
    SCMP_SYS(finit_module),
    SCMP_SYS(kexec_load),
    SCMP_SYS(open_by_handle_at),
};
// System calls that change files and that Landlock does not restrict.
constexpr std::array kChanges = {
    SCMP_SYS(chmod),        SCMP_SYS(fchmod),       SCMP_SYS(fchmodat),  SCMP_SYS(chown),     SCMP_SYS(fchown),
    SCMP_SYS(lchown),       SCMP_SYS(fchownat),     SCMP_SYS(setxattr),  SCMP_SYS(lsetxattr), SCMP_SYS(fsetxattr),
    SCMP_SYS(utime),        SCMP_SYS(utimes),       SCMP_SYS(utimensat), SCMP_SYS(futimesat), SCMP_SYS(removexattr),
    SCMP_SYS(lremovexattr), SCMP_SYS(fremovexattr), SCMP_SYS(acct),      SCMP_SYS(swapon),    SCMP_SYS(swapoff),
};

template <std::size_t N>
void refuse(scmp_filter_ctx context, const std::array<int, N>& calls, int error) {
  // A system call that this architecture does not have needs no rule.
  for (const int call : calls) seccomp_rule_add(context, SCMP_ACT_ERRNO(static_cast<unsigned>(error)), call, 0);
}

std::vector<sock_filter> make_filter(const Sandbox& sandbox) {
  const Context context(seccomp_init(SCMP_ACT_ALLOW), &seccomp_release);
  if (!context) return {};
  refuse(context.get(), kEscapes, EPERM);
  // io_uring opens sockets and files without system calls that a filter sees. Programs work on kernels without it.
  refuse(context.get(), std::array{SCMP_SYS(io_uring_setup)}, ENOSYS);
  if (!sandbox.network) refuse(context.get(), std::array{SCMP_SYS(socket)}, EACCES);
  if (sandbox.read_only) refuse(context.get(), kChanges, EROFS);
  const Fd file(memfd_create("filter", MFD_CLOEXEC));
  if (!file || seccomp_export_bpf(context.get(), file.get()) != 0) return {};
  struct stat facts{};
  if (fstat(file.get(), &facts) != 0) return {};
  std::vector<sock_filter> filter(static_cast<std::size_t>(facts.st_size) / sizeof(sock_filter));
  const auto bytes = static_cast<ssize_t>(filter.size() * sizeof(sock_filter));
  if (pread(file.get(), filter.data(), static_cast<std::size_t>(bytes), 0) != bytes) return {};
  return filter;
}

int landlock_version() {
  const long version = syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version < 0 ? 0 : static_cast<int>(version);
}

// Constants that the headers of older kernels lack.
constexpr std::uint64_t kRefer = 1ULL << 13U;
constexpr std::uint64_t kTruncate = 1ULL << 14U;
constexpr std::uint64_t kFileWrites = LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate;

std::uint64_t handled_writes(int version) {
  std::uint64_t writes = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                         LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |
                         LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                         LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;
  if (version >= 2) writes |= kRefer;
  if (version >= 3) writes |= kTruncate;
  return writes;
}

bool allow_writes(int rules, const std::string& path, std::uint64_t writes) {
  const Fd fd(open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat facts{};
  if (!fd || fstat(fd.get(), &facts) != 0) return false;
  landlock_path_beneath_attr rule{};
  rule.allowed_access = S_ISDIR(facts.st_mode) ? writes : writes & kFileWrites;
  rule.parent_fd = fd.get();
  return syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
}

Fd make_rules(const Sandbox& sandbox, int version, std::string& error) {
  const std::uint64_t writes = handled_writes(version);
  landlock_ruleset_attr attributes{};
  attributes.handled_access_fs = writes;
  // Newer kernels accept the older, shorter structure.
  Fd rules(static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes.handled_access_fs, 0)));
  if (!rules) {
    error = std::string("Landlock refused its rules: ") + std::strerror(errno);
    return rules;
  }
  allow_writes(rules.get(), "/dev/null", writes);
  for (const std::string& path : sandbox.writable) {
    if (!allow_writes(rules.get(), path, writes)) {
      error = "'" + path + "', which is to be writable, cannot be opened: " + std::strerror(errno);
    }
  }
  return rules;
}

}  // namespace

KernelFeatures kernel_features() {
  KernelFeatures features;
  const std::uint32_t errno_action = SECCOMP_RET_ERRNO;
  features.seccomp = syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &errno_action) == 0;
  features.landlock = landlock_version();
  features.lists_children = access("/proc/thread-self/children", R_OK) == 0;
  return features;
}

PreparedSandbox PreparedSandbox::prepare(const Sandbox& sandbox, std::string& error) {
  PreparedSandbox prepared;
  if (sandbox.network && !sandbox.read_only) return prepared;
  const KernelFeatures features = kernel_features();
  if (!features.seccomp) error = "this kernel has no seccomp";
  if (sandbox.read_only && features.landlock == 0) error = "this kernel has no Landlock";
  if (features.seccomp) {
    prepared.filter_ = make_filter(sandbox);
    if (prepared.filter_.empty()) error = "the seccomp filter could not be made";
  }
  if (sandbox.read_only && features.landlock > 0) prepared.rules_ = make_rules(sandbox, features.landlock, error);
  return prepared;
}

bool PreparedSandbox::apply() const {
  if (!rules_ && filter_.empty()) return true;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  if (rules_ && syscall(SYS_landlock_restrict_self, rules_.get(), 0) != 0) return false;
  if (filter_.empty()) return true;
  const sock_fprog program{static_cast<unsigned short>(filter_.size()), const_cast<sock_filter*>(filter_.data())};
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

}  // namespace allm
