#include "process/containment.hpp"

#include <array>

#include "process/cgroup.hpp"

namespace allm {
namespace {

constexpr std::array<const char*, 4> kContainmentNames = {"automatic", "pid_namespace", "cgroup", "sweep"};

}  // namespace

const char* name_of(Containment containment) { return kContainmentNames.at(static_cast<std::size_t>(containment)); }

Containment containment_named(const std::string& name) {
  for (std::size_t i = 0; i < kContainmentNames.size(); ++i) {
    if (name == kContainmentNames.at(i)) return static_cast<Containment>(i);
  }
  return Containment::automatic;
}

std::expected<ChosenContainment, std::string> choose_containment(Containment asked) {
  if (asked == Containment::automatic || asked == Containment::pid_namespace) {
    const auto namespaces = probe_pid_namespaces();
    if (namespaces) return ChosenContainment{.kind = Containment::pid_namespace, .namespaces = *namespaces};
    if (asked == Containment::pid_namespace) return std::unexpected(namespaces.error());
  }
  if (asked == Containment::automatic || asked == Containment::cgroup) {
    const auto cgroups = probe_cgroups();
    if (cgroups) return ChosenContainment{.kind = Containment::cgroup};
    if (asked == Containment::cgroup) return std::unexpected(cgroups.error());
  }
  return ChosenContainment{.kind = Containment::sweep};
}

}  // namespace allm
