// The lanes that lead out of the process: what a runtime has for them, and the way of one call.
#pragma once

#include <memory>
#include <string>

#include "allm/runtime.hpp"
#include "allm/tool.hpp"

#include "lanes/lane_call.hpp"
#include "lanes/worker_pool.hpp"
#include "process/supervisor.hpp"

namespace allm {

// The way of the runner to the lanes below, through the runtime of each call.
const OutsideCalls& lane_calls();

// A service of the runtime. Safe from any thread.
class Lanes {
 public:
  Lanes(std::shared_ptr<Loop> loop, const RuntimeOptions& options);
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;
  ~Lanes();

  // A call of a tool for which runs_outside() holds, ready to be started. Null if it was answered at once.
  std::shared_ptr<LaneCall> prepare(const Tool& tool, const Json& arguments, const ToolContext& context,
                                    ToolCompletion done);
  // Runs a handler that the program registered under a name, with data for it; see register_worker_entry. May block
  // while a process is started.
  void run_entry(const std::string& entry, const Json& data, const ToolLimits& limits, const Json& arguments,
                 const ToolContext& context, ToolCompletion done);

 private:
  std::shared_ptr<WorkerCall> worker_call(const ToolLimits& limits, const std::string& entry, const Json& data,
                                          const Json& arguments, const ToolContext& context, ToolCompletion done);

  const std::shared_ptr<Loop> loop_;
  const std::shared_ptr<Supervisor> supervisor_;
  const std::shared_ptr<WorkerPool> workers_;
};

}  // namespace allm
