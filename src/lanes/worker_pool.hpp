// Worker processes: this executable or a helper, started again. Each runs one call at a time and is kept for the next.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "allm/runtime.hpp"

#include "lanes/lane_call.hpp"
#include "process/supervisor.hpp"

namespace allm {

class WorkerPool;

// A call that runs in a worker. Started once. Shared: the runner holds it, and the pool's queue or a worker does.
class WorkerCall : public LaneCall, public std::enable_shared_from_this<WorkerCall> {
 public:
  WorkerCall(std::shared_ptr<Loop> loop, std::shared_ptr<WorkerPool> pool, const ToolContext& context,
             ToolCompletion done, const ToolLimits& tool_limits)
      : LaneCall(std::move(loop), context, std::move(done), tool_limits), pool_(std::move(pool)) {}

  bool start_now() override;
  void start() override;

  std::uint64_t id = 0;  // of its messages
  std::string frame;     // the request, as it is sent

 private:
  friend class WorkerPool;
  const std::shared_ptr<WorkerPool> pool_;
  // Stops the worker that runs the call.
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
};

// Safe to call from any thread. Shared: calls hold it and may outlive the runtime; workers and timers refer to it
// weakly.
class WorkerPool : public std::enable_shared_from_this<WorkerPool> {
 public:
  WorkerPool(std::shared_ptr<Loop> loop, std::shared_ptr<Supervisor> supervisor, const RuntimeOptions& options);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool();

  // Sends the call to an idle worker; false if there is none. Does not block.
  bool try_run(const std::shared_ptr<WorkerCall>& call);
  // Sends the call to an idle worker, to a new one or, if there are max_workers, to the next that becomes idle. May
  // block while a process is started.
  void run(const std::shared_ptr<WorkerCall>& call);
  // Releases all workers, which the process supervisor has killed. Called when the loop has stopped.
  void close();

 private:
  class Worker;

  std::shared_ptr<Worker> take_idle(const ToolLimits& limits);
  void start_worker(const std::shared_ptr<WorkerCall>& call);
  // Starts a worker without a call, unless an idle one has these limits.
  void start_spare(const ToolLimits& limits);
  // Starts a worker, with `call` as its first call unless that is null. On failure returns null and sets `error`.
  std::shared_ptr<Worker> launch(const ToolLimits& limits, const std::shared_ptr<WorkerCall>& call, std::string& error);
  // The process was started, and nobody else holds the other end of its line: the line closes when the process dies.
  void launched(const std::shared_ptr<Worker>& worker);
  // Sends the call to the worker; false if the worker has ended.
  bool give(const std::shared_ptr<Worker>& worker, const std::shared_ptr<WorkerCall>& call);
  void watch_stop(const std::shared_ptr<WorkerCall>& call);
  // Nobody waits for the call any more: removes it from the queue, or stops its worker.
  void stop(const std::shared_ptr<WorkerCall>& call);
  // The worker has answered its call, or has ended. Called by the thread that drives the loop, or when a launch is
  // done.
  void released(const std::shared_ptr<Worker>& worker);
  void ended(const std::shared_ptr<Worker>& worker, bool during_call);
  void run_queued();
  void retire_idle();
  void arm_retirement();  // with the lock held
  void look_again();      // at the queue, after a short while; with the lock held

  const std::shared_ptr<Loop> loop_;
  const std::shared_ptr<Supervisor> supervisor_;
  const RuntimeOptions options_;
  const ForkMark mark_;  // in a forked child the workers are those of the parent, and calls fail
  std::mutex mutex_;
  std::list<std::shared_ptr<Worker>> workers_;  // all that have not ended
  std::size_t starting_ = 0;                    // workers that are about to be in workers_
  std::vector<std::shared_ptr<Worker>> idle_;   // the last used one at the end
  std::deque<std::shared_ptr<WorkerCall>> queue_;
  Timer retirement_;
  bool retirement_armed_ = false;
  Timer look_;
  bool look_armed_ = false;
};

}  // namespace allm
