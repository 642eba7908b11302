#include "allm/workers.hpp"

#include <unistd.h>

#include "lanes/worker_process.hpp"
#include "process/containment.hpp"
#include "process/role.hpp"
#include "process/sandbox.hpp"
#include "process/supervisor_process.hpp"

namespace allm {

namespace {

void add_containment(SandboxSupport& support) {
  const auto in_namespace = choose_containment(Containment::pid_namespace);
  if (in_namespace) {
    support.containment = Containment::pid_namespace;
    support.protected_supervisor = true;
    support.own_proc = in_namespace->namespaces.own_proc;
    if (support.own_proc) return;
    support.notes.emplace_back(
        "/proc cannot be mounted in a namespace, as in many containers: tools see all processes of the system, but "
        "cannot signal them");
  } else {
    const auto in_cgroup = choose_containment(Containment::cgroup);
    if (in_cgroup) support.containment = Containment::cgroup;
    support.notes.push_back(in_namespace.error() +
                            ". A hostile tool can signal the process supervisor; to prevent that, allow this user "
                            "user namespaces, or give the container the right to make namespaces");
  }
}

}  // namespace

void run_as_worker_if_asked(const std::vector<Tool>& tools, const WorkerOptions& options) {
  const StartedAs started = take_role();
  set_has_worker_entry_point();  // a worker may have workers of its own
  switch (started.role) {
    case ProcessRole::program:
      return;
    case ProcessRole::supervisor:
      _exit(SupervisorProcess(kLineFd, kLifelineFd, kEndsFd, started.parent).run());
    case ProcessRole::worker:
      run_worker(kLineFd, tools, options);
  }
}

SandboxSupport sandbox_support() {
  const KernelFeatures features = kernel_features();
  const bool can_sandbox = features.seccomp && features.landlock > 0;
  SandboxSupport support{
      .no_network = can_sandbox, .read_only = can_sandbox, .no_signals = can_sandbox && features.landlock >= 6};
  add_containment(support);
  support.orphans = features.lists_children || support.containment != Containment::sweep;
  if (!features.seccomp) support.notes.emplace_back("no seccomp: nothing can be kept from the network");
  if (features.landlock == 0) {
    support.notes.emplace_back(
        "no Landlock: files cannot be made read-only, and tools not kept out of the memory of other processes");
  }
  if (features.landlock > 0 && !support.no_signals) {
    support.notes.emplace_back("Landlock before version 6: sandboxed tools can signal other processes of this user");
  }
  if (!support.orphans) {
    support.notes.emplace_back("no list of children in /proc: processes that leave their group are not found");
  }
  return support;
}

}  // namespace allm
