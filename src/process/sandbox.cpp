#include "process/sandbox.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include "process/call_filter.hpp"

namespace allm {
namespace {

int landlock_version() {
  const long version = syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version < 0 ? 0 : static_cast<int>(version);
}

// Constants that the headers of older kernels lack.
constexpr std::uint64_t kRefer = 1ULL << 13U;
constexpr std::uint64_t kTruncate = 1ULL << 14U;
constexpr int kFirstWithTruncate = 3;
constexpr std::uint64_t kFileWrites = LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate;
constexpr std::uint64_t kBindTcp = 1ULL << 0U;
constexpr std::uint64_t kConnectTcp = 1ULL << 1U;
constexpr std::uint64_t kScopeAbstractSockets = 1ULL << 0U;
constexpr std::uint64_t kScopeSignals = 1ULL << 1U;

// The newest form of landlock_ruleset_attr that is used here. Older kernels accept a shorter one.
struct RulesetAttributes {
  std::uint64_t files = 0;
  std::uint64_t network = 0;  // from version 4
  std::uint64_t scopes = 0;   // from version 6
};
std::size_t size_for(int version) {
  if (version >= 6) return sizeof(RulesetAttributes);
  return version >= 4 ? 2 * sizeof(std::uint64_t) : sizeof(std::uint64_t);
}

std::uint64_t handled_writes(int version) {
  std::uint64_t writes = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                         LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |
                         LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                         LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;
  if (version >= 2) writes |= kRefer;
  if (version >= kFirstWithTruncate) writes |= kTruncate;
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

// A process in a domain of Landlock cannot open or trace processes outside of it, whatever the rules are.
Fd make_rules(const Sandbox& sandbox, int version, std::string& error) {
  RulesetAttributes attributes;
  if (sandbox.read_only) attributes.files = handled_writes(version);
  if (!sandbox.network && version >= 4) attributes.network = kBindTcp | kConnectTcp;
  if (version >= 6) attributes.scopes = kScopeSignals | (sandbox.network ? 0 : kScopeAbstractSockets);
  // Older kernels need a rule about files for a domain. This one forbids nothing, because all of `/` is excepted.
  const bool only_domain = attributes.files == 0 && attributes.network == 0 && attributes.scopes == 0;
  if (only_domain) attributes.files = LANDLOCK_ACCESS_FS_MAKE_BLOCK | (version >= 2 ? kRefer : 0);
  Fd rules(static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, size_for(version), 0)));
  if (!rules) {
    error = std::string("Landlock refused its rules: ") + std::strerror(errno);
    return rules;
  }
  if (only_domain && !allow_writes(rules.get(), "/", attributes.files)) error = "Landlock refused a rule for /";
  if (!sandbox.read_only) return rules;
  allow_writes(rules.get(), "/dev/null", attributes.files);
  for (const std::string& path : sandbox.writable) {
    if (!allow_writes(rules.get(), path, attributes.files)) {
      error = "'" + path + "', which is to be writable, cannot be opened: " + std::strerror(errno);
    }
  }
  return rules;
}

// Root keeps only its power over files and ids: with the others it could read all memory (/proc/kcore), make device
// files, or signal everybody. They are gone after exec; users other than root have none.
void drop_capabilities() {
  constexpr std::array kKept = {CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_FOWNER,          CAP_FSETID,
                                CAP_SETGID, CAP_SETUID,       CAP_NET_BIND_SERVICE};
  constexpr int kMost = 64;
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  for (int capability = 0; capability < kMost; ++capability) {
    if (std::ranges::find(kKept, capability) != kKept.end()) continue;
    if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) return;  // not root, or the last one was dropped
  }
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

PreparedSandbox PreparedSandbox::prepare(const Sandbox& sandbox, const KernelFeatures& features, std::string& error) {
  PreparedSandbox prepared;
  if (sandbox.network && !sandbox.read_only) return prepared;
  prepared.is_sandboxed_ = true;
  if (!features.seccomp) error = "this kernel has no seccomp";
  if (features.landlock == 0) {
    error = sandbox.read_only ? "this kernel has no Landlock"
                              : "this kernel has no Landlock, which keeps a tool out of the memory of other processes";
  }
  if (features.seccomp) {
    prepared.filter_ = call_filter(sandbox, sandbox.read_only && features.landlock < kFirstWithTruncate);
    if (prepared.filter_.empty()) error = "the seccomp filter could not be made";
  }
  if (features.landlock > 0) prepared.rules_ = make_rules(sandbox, features.landlock, error);
  return prepared;
}

bool PreparedSandbox::apply() const {
  if (!is_sandboxed_) return true;
  drop_capabilities();
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  if (rules_ && syscall(SYS_landlock_restrict_self, rules_.get(), 0) != 0) return false;
  if (filter_.empty()) return true;
  const sock_fprog program{static_cast<unsigned short>(filter_.size()), const_cast<sock_filter*>(filter_.data())};
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

}  // namespace allm
