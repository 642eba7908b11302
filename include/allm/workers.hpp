// Worker processes: what a program does to have them, and what the kernel can hold them to.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "allm/engine.hpp"
#include "allm/tool.hpp"

namespace allm {

struct WorkerOptions {
  // What ToolContext::engine() gives in a worker; default: an engine without a model. Called once, in the worker.
  std::function<Engine()> engine = nullptr;
};

// To be called at the top of main by a program that has tools in the worker lane or commands: the processes that it
// starts are itself, and this is where they stop being it. Returns at once in the program and never in a worker.
// `tools` are those whose handlers may run in a worker, found by their names; what their handlers need must be there by
// then, so call it after that is set up and before anything else.
void run_as_worker_if_asked(const std::vector<Tool>& tools = {}, const WorkerOptions& options = {});

// What this kernel can enforce.
struct SandboxSupport {
  bool no_network = false;              // by seccomp
  bool read_only = false;               // by Landlock and seccomp
  bool orphans = false;                 // processes that leave their group are found and killed as well
  std::vector<std::string> notes = {};  // what is missing or weaker, in words
};
SandboxSupport sandbox_support();

}  // namespace allm
