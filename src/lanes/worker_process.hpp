// The worker's own side: runs handlers for the program that started it, one call at a time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "allm/workers.hpp"

namespace allm {

// A handler that calls can name together with data for it, where tools are not known before they are called. To be
// registered before run_as_worker_if_asked, in the program and so in its workers.
using WorkerEntry =
    std::function<void(const Json& data, const Json& arguments, const ToolContext& context, ToolCompletion done)>;
void register_worker_entry(std::string name, WorkerEntry entry);

// Until the program closes its end.
[[noreturn]] void run_worker(int line, const std::vector<Tool>& tools, const WorkerOptions& options);

}  // namespace allm
