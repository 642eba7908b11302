// One worker process: the program's side.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "lanes/worker_pool.hpp"
#include "lanes/worker_wire.hpp"
#include "process/fd.hpp"
#include "process/frames.hpp"
#include "process/supervisor.hpp"

namespace allm {

// Runs one call at a time. give(), stop(), dismiss() and is_reusable() are safe to call from any thread; everything
// else is for the thread that drives the loop. Shared: its pool holds it, and the process supervisor holds it until the
// process has ended.
class WorkerPool::Worker : public Watcher, public JobListener, public std::enable_shared_from_this<Worker> {
 public:
  Worker(std::shared_ptr<WorkerPool> pool, HiddenFd line, const ToolLimits& limits);

  // Whether a call with these limits may run in it.
  bool fits(const ToolLimits& limits) const;
  const ToolLimits& limits() const { return limits_; }
  // Sends the call to the process; false if the process has ended.
  bool give(const std::shared_ptr<WorkerCall>& call);
  // Stops the process if it runs `call`, and returns whether it does. The worker then gets no other call.
  bool stop(const WorkerCall& call);
  // Kills the process, which gets no other call.
  void dismiss();
  // Whether it may be given another call.
  bool is_reusable() const;

  void ready(int fd, unsigned events) noexcept override;
  void job_ended(const JobEnd& end) noexcept override;

  std::atomic<std::uint64_t> job = 0;
  // Used by the pool, guarded by its mutex.
  std::chrono::steady_clock::time_point idle_since;
  bool is_launched = false;
  bool has_answered_early = false;  // before it was launched; it becomes idle when it is

 private:
  void watch();
  void flush();
  // Reads once; returns whether more may have arrived.
  bool receive();
  // Handles one message. False if it is not one of a worker: what follows it cannot be read.
  bool take(const std::string& frame);
  bool take_progress(const WorkerMessage& message);
  void take_answer(const WorkerMessage& message);
  // A message that is not for the call that runs.
  void ignore_message();
  // The call that runs, if the message is for it.
  std::shared_ptr<WorkerCall> call_of(const WorkerMessage& message);
  std::shared_ptr<WorkerCall> release_call();
  // Fails the call that runs, and kills the process.
  void break_off(const std::string& what_it_did);
  void line_closed();
  bool has_to_send() const { return sending_ != nullptr; }  // with the lock held
  // Sends what the line accepts; false if the process has ended. With the lock held.
  bool send_some();

  const std::weak_ptr<WorkerPool> pool_;
  const std::shared_ptr<Loop> loop_;
  const std::shared_ptr<Supervisor> supervisor_;
  const ToolLimits limits_;
  HiddenFd line_;  // closed by the thread that drives the loop, with mutex_ locked
  FrameReader frames_;
  Timer kill_timer_;  // kills a process that closed its line and did not end
  bool watched_ = false;
  bool is_out_of_memory_ = false;

  mutable std::mutex mutex_;  // guards what follows
  std::shared_ptr<WorkerCall> call_;
  std::shared_ptr<WorkerCall> sending_;  // the call whose frame is being sent
  std::size_t sent_ = 0;                 // bytes of that frame
  std::size_t calls_ = 0;
  bool stopped_ = false;
};

}  // namespace allm
