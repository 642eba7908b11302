#include "cli/sandbox_command.hpp"

#include <string>

#include "allm/workers.hpp"

namespace allm::cli {

int sandbox_command(const Terminal& out) {
  const SandboxSupport support = sandbox_support();
  const auto line = [&](bool holds, const std::string& what) {
    out.write((holds ? out.paint(Style::green, "yes") + "  " : out.paint(Style::red, "no") + "   ") + what + "\n");
  };
  line(support.no_network, "tools can be denied network access and the memory of other processes (seccomp, Landlock)");
  line(support.read_only, "files can be made read-only for tools (Landlock, seccomp)");
  line(support.no_signals, "sandboxed tools cannot signal other processes (Landlock 6)");
  line(support.orphans, "processes that tools leave behind are found and ended");
  for (const std::string& note : support.notes) out.write("     " + note + "\n");
  return support.no_network && support.read_only && support.no_signals && support.orphans ? 0 : 1;
}

}  // namespace allm::cli
