// The worker lane and the command lane of a runtime.
#pragma once

#include <memory>
#include <string>

#include "allm/runtime.hpp"
#include "allm/tool.hpp"

#include "lanes/lane_call.hpp"
#include "lanes/worker_pool.hpp"
#include "process/memory_protection.hpp"
#include "process/supervisor.hpp"
#include "runtime/fork_guard.hpp"

namespace allm {

// Gives the runner access to the lanes of each call's runtime.
const OutsideCalls& lane_calls();

// A service of the runtime (Runtime::Impl::service). Safe to call from any thread.
class Lanes {
 public:
  Lanes(std::shared_ptr<Loop> loop, const RuntimeOptions& options);
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;
  ~Lanes();

  // Makes a call of a tool for which runs_outside() is true, ready to be started. Null if the call was answered with an
  // error.
  std::shared_ptr<LaneCall> prepare(const Tool& tool, const Json& arguments, const ToolContext& context,
                                    ToolCompletion done);
  // Runs the handler that the program registered as `entry`, with `data`; see register_worker_entry. May block while a
  // process is started.
  void run_entry(const std::string& entry, const Json& data, const ToolLimits& limits, const Json& arguments,
                 const ToolContext& context, ToolCompletion done);

 private:
  std::shared_ptr<WorkerCall> worker_call(const ToolLimits& limits, const std::string& entry, const Json& data,
                                          const Json& arguments, const ToolContext& context, ToolCompletion done);

  const MemoryProtection memory_protection_;
  const ForkMark mark_;  // in a forked child all processes are those of the parent, and calls fail
  const std::shared_ptr<Loop> loop_;
  const std::shared_ptr<Supervisor> supervisor_;
  const std::shared_ptr<WorkerPool> workers_;
};

}  // namespace allm
