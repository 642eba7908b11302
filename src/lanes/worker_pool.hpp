// Worker processes, kept warm: this executable, started again, that runs one call at a time.
#pragma once

#include <chrono>
#include <cstddef>
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

// A call for a worker. Started once.
class WorkerCall : public LaneCall, public std::enable_shared_from_this<WorkerCall> {
 public:
  WorkerCall(std::shared_ptr<Loop> loop, std::shared_ptr<WorkerPool> pool, const ToolContext& context,
             ToolCompletion done, const ToolLimits& tool_limits)
      : LaneCall(std::move(loop), context, std::move(done), tool_limits), pool_(std::move(pool)) {}

  bool start_now() override;
  void start() override;

  std::string frame;  // as it is sent

 private:
  friend class WorkerPool;
  const std::shared_ptr<WorkerPool> pool_;
  // Kills the worker that runs it.
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
};

// Safe from any thread.
class WorkerPool : public std::enable_shared_from_this<WorkerPool> {
 public:
  WorkerPool(std::shared_ptr<Loop> loop, std::shared_ptr<Supervisor> supervisor, const RuntimeOptions& options);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool();

  // Hands the call to a worker that waits for one, if there is one; whether there was. Does not block.
  bool try_run(const std::shared_ptr<WorkerCall>& call);
  // Hands it to one that waits, to a new one or, where there are as many as may be, to the next that is free. May block
  // while a process is started.
  void run(const std::shared_ptr<WorkerCall>& call);
  // Forgets all workers, which the process supervisor has killed. For the end, when the loop has stopped.
  void close();

 private:
  class Worker;

  std::shared_ptr<Worker> take_idle(const ToolLimits& limits);
  void start_worker(const std::shared_ptr<WorkerCall>& call);
  // Unless one waits already.
  void start_spare(const ToolLimits& limits);
  // A new one, with its first call if there is one; null and `problem` if there is none.
  std::shared_ptr<Worker> launch(const ToolLimits& limits, const std::shared_ptr<WorkerCall>& call,
                                 std::string& problem);
  // From now on its death can be seen by its line, since nobody else has the other end.
  void launched(const std::shared_ptr<Worker>& worker);
  // Sends it; false if the worker is not there any more.
  bool give(const std::shared_ptr<Worker>& worker, const std::shared_ptr<WorkerCall>& call);
  void watch_stop(const std::shared_ptr<WorkerCall>& call);
  // The call is not wanted any more.
  void stop(const std::shared_ptr<WorkerCall>& call);
  // The worker has answered its call, or ended. By who drives, or at the end of a launch.
  void released(const std::shared_ptr<Worker>& worker);
  void ended(const std::shared_ptr<Worker>& worker, bool during_call);
  void run_queued();
  void retire_idle();
  void arm_retirement();  // with the lock held

  const std::shared_ptr<Loop> loop_;
  const std::shared_ptr<Supervisor> supervisor_;
  const RuntimeOptions options_;
  std::mutex mutex_;
  std::list<std::shared_ptr<Worker>> workers_;  // all but those that have ended
  std::size_t starting_ = 0;                    // and that soon will be there
  std::vector<std::shared_ptr<Worker>> idle_;   // the last used at the end
  std::deque<std::shared_ptr<WorkerCall>> queue_;
  Timer retirement_;
  bool retirement_armed_ = false;
};

}  // namespace allm
