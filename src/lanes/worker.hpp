// One worker process, seen from here.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "lanes/worker_pool.hpp"
#include "process/fd.hpp"
#include "process/frames.hpp"
#include "process/supervisor.hpp"

namespace allm {

// Its pool owns it, and the process supervisor until it has ended. `give`, `stop`, `dismiss` and `is_reusable` from any
// thread, one call at a time; the rest by who drives the loop.
class WorkerPool::Worker : public Watcher, public JobListener, public std::enable_shared_from_this<Worker> {
 public:
  Worker(std::shared_ptr<WorkerPool> pool, Fd line, const ToolLimits& limits);

  // Whether a call with these limits may run in it.
  bool fits(const ToolLimits& limits) const;
  const ToolLimits& limits() const { return limits_; }
  // Sends it the call; false if it is not there any more.
  bool give(const std::shared_ptr<WorkerCall>& call);
  // Whether it is that call's; it will not be another's.
  bool stop(const WorkerCall& call);
  // For when nobody wants it any more.
  void dismiss();
  // Whether it may be given another call.
  bool is_reusable() const;

  void ready(int fd, unsigned events) noexcept override;
  void job_ended(const JobEnd& end) noexcept override;

  std::atomic<std::uint64_t> job = 0;
  // The pool's, under its lock.
  std::chrono::steady_clock::time_point idle_since;
  bool is_launched = false;
  bool has_answered_early = false;  // before it was launched: it is not idle until then

 private:
  void watch();
  void flush();
  // What has arrived; whether there may be more.
  bool receive();
  void take(const std::string& frame);
  std::shared_ptr<WorkerCall> release_call();
  void line_closed();

  const std::weak_ptr<WorkerPool> pool_;
  const std::shared_ptr<Loop> loop_;
  const std::shared_ptr<Supervisor> supervisor_;
  const ToolLimits limits_;
  Fd line_;  // closed by who drives, under the lock
  FrameReader frames_;
  Timer patience_;  // with one that closed its line and did not end
  bool watched_ = false;
  bool is_out_of_memory_ = false;

  mutable std::mutex mutex_;  // of what follows
  std::shared_ptr<WorkerCall> call_;
  std::string outgoing_;
  std::size_t calls_ = 0;
  bool stopped_ = false;
};

}  // namespace allm
