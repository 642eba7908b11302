#include "cli/sandbox_command.hpp"

#include <string>

#include "allm/workers.hpp"

namespace allm::cli {

namespace {

std::string ended_by(Containment containment) {
  switch (containment) {
    case Containment::pid_namespace:
      return "by the kernel, with a PID namespace";
    case Containment::cgroup:
      return "by the kernel, with a cgroup";
    case Containment::automatic:
    case Containment::sweep:
      break;
  }
  return "all are stopped, then killed";
}

}  // namespace

int sandbox_command(const Terminal& out) {
  const SandboxSupport support = sandbox_support();
  const auto line = [&](bool holds, const std::string& what) {
    out.write((holds ? out.paint(Style::green, "yes") + "  " : out.paint(Style::red, "no") + "   ") + what + "\n");
  };
  line(support.no_network, "tools can be denied network access and the memory of other processes (seccomp, Landlock)");
  line(support.read_only, "files can be made read-only for tools (Landlock, seccomp)");
  line(support.no_signals, "sandboxed tools cannot signal other processes (Landlock 6)");
  line(support.orphans,
       "processes that tools leave behind are found and ended (" + ended_by(support.containment) + ")");
  line(support.protected_supervisor, "tools cannot signal or stop the process supervisor (PID namespace)");
  line(support.own_proc, "tools do not see other processes in /proc (PID namespace)");
  for (const std::string& note : support.notes) out.write("     " + note + "\n");
  return support.notes.empty() ? 0 : 1;
}

CommandSpec sandbox_spec() {
  return {.name = "sandbox",
          .summary = "Show which sandbox features this kernel supports",
          .description = "Denying network access, making files read-only, finding processes that a tool leaves behind.",
          .exit_codes = {{0, "All of them are supported."}, {1, "Some are not."}, {2, "The command line is wrong."}},
          .run = [](const CommandContext& context) { return sandbox_command(context.out); }};
}

}  // namespace allm::cli
