// How the processes of a job are kept together: the kind that holds on this machine.
#pragma once

#include <expected>
#include <string>

#include "allm/runtime.hpp"

#include "process/pid_namespace.hpp"

namespace allm {

// Chosen once by each process supervisor. Never `automatic`.
struct ChosenContainment {
  Containment kind = Containment::sweep;
  PidNamespaces namespaces = {};  // for pid_namespace
};

// The first kind that this machine allows, or the one that was asked for; the error says why it is not allowed. Blocks
// for a few milliseconds. Safe to call from any thread.
std::expected<ChosenContainment, std::string> choose_containment(Containment asked);

// "pid_namespace"
const char* name_of(Containment containment);
Containment containment_named(const std::string& name);

}  // namespace allm
