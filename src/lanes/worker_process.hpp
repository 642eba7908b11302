// The worker's own side: runs handlers for the program that started it, one call at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "allm/workers.hpp"

namespace allm {

// A handler that a call selects by name and passes data to, for tools that the worker does not have beforehand.
// Register it before run_as_worker_if_asked, so that the workers have it as well as the program.
using WorkerEntry =
    std::function<void(const Json& data, const Json& arguments, const ToolContext& context, ToolCompletion done)>;
void register_worker_entry(std::string name, WorkerEntry entry);

// The id of the call that this worker runs; 0 between calls and in other processes. Safe to call from any thread.
std::uint64_t current_worker_call();

// Runs calls until the program closes its end of `line`.
[[noreturn]] void run_worker(int line, const std::vector<Tool>& tools, const WorkerOptions& options);

}  // namespace allm
