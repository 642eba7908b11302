// Worker processes: their entry point in main, and the restrictions that this kernel can enforce on them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "allm/engine.hpp"
#include "allm/runtime.hpp"
#include "allm/tool.hpp"

namespace allm {

struct WorkerOptions {
  // Makes the engine that ToolContext::engine() returns in a worker. Called once, in the worker. Default: an engine
  // without a model. A key that it takes from the environment must be named in RuntimeOptions::worker_secrets.
  std::function<Engine()> engine = nullptr;
};

// Call it at the top of main if the program has tools in the worker lane or commands. A worker is another process that
// runs the same executable. In a worker, this call runs the worker and never returns; in the program itself it returns
// at once. `tools` are the tools whose handlers may run in a worker, where they are found by name. Before the call, set
// up only what these handlers need.
void run_as_worker_if_asked(const std::vector<Tool>& tools = {}, const WorkerOptions& options = {});

// The restrictions that this kernel can enforce.
struct SandboxSupport {
  bool no_network = false;  // Sandbox::network can be enforced: by seccomp and Landlock
  bool read_only = false;   // Sandbox::read_only can be enforced: by Landlock and seccomp
  bool no_signals = false;  // sandboxed tools cannot signal processes outside: Landlock 6
  bool orphans = false;     // child processes that leave the process group are found and killed, too
  // The kind that Containment::automatic chooses. Never `automatic`.
  Containment containment = Containment::sweep;
  bool protected_supervisor = false;    // tools cannot signal, stop or trace the process supervisor or the program
  bool own_proc = false;                // tools do not see processes outside of their PID namespace in /proc
  std::vector<std::string> notes = {};  // missing or weaker restrictions, as text for people
};
SandboxSupport sandbox_support();

}  // namespace allm
