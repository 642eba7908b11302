// One tool call on its way: on a worker thread, against its deadline, until somebody settles it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "allm/executor.hpp"
#include "allm/stream.hpp"
#include "allm/tool.hpp"

#include "engine/run.hpp"
#include "engine/span.hpp"
#include "runtime/loop.hpp"
#include "runtime/pool.hpp"
#include "tools/outside_call.hpp"
#include "tools/polled_call.hpp"
#include "tools/tool_context_state.hpp"

namespace allm {

// Where the calls of a batch report to. Shared by the batch and its calls, so that it outlives
// whichever goes first. Safe from any thread.
class BatchInbox {
 public:
  struct Progress {
    std::size_t index;
    Json report;
  };
  void settled(std::size_t index);
  void progress(std::size_t index, Json report);
  // Hands a call to the batch, which polls it. Dropped if the batch is gone.
  void drive(std::size_t index, std::unique_ptr<PolledCall> call);
  // Such a call wants to be polled.
  void ready(std::size_t index);
  // Takes what has come; if nothing has, keeps `waker` to call when something does.
  bool take(std::vector<std::size_t>& settled, std::vector<Progress>& progress, const Waker& waker);
  struct Driven {
    std::size_t index;
    std::unique_ptr<PolledCall> call;
  };
  std::vector<Driven> take_driven();
  std::vector<std::size_t> take_ready();
  // The batch is going; what it is handed from now on is dropped.
  void close();

 private:
  static constexpr std::size_t kMaxProgress = 64;
  std::mutex mutex_;
  std::vector<std::size_t> settled_;
  std::vector<Progress> progress_;
  std::vector<Driven> driven_;
  std::vector<std::size_t> ready_;
  bool closed_ = false;
  Waker waker_;
};

// Owned by the batch, the worker that runs it, the timer, every completion and every copy of the context: it lives
// until the last of them is done with it, however late that is.
class PendingCall : public Pool::Task,
                    public LoopTask,
                    public ToolContext::State,
                    public std::enable_shared_from_this<PendingCall> {
 public:
  PendingCall(std::shared_ptr<const Run> run_settings, const Tool& tool, ToolCall call, Json arguments,
              std::shared_ptr<BatchInbox> inbox, std::size_t index, const OutsideCalls& outside, SpanId parent);

  // Arms the deadline and hands the call to the pool.
  void dispatch(std::chrono::milliseconds timeout);
  // The run does not want the result any more. Whether there was none yet; there will be none then.
  bool abandon();
  // After the inbox told of it: what the call came to.
  ToolOutcome take_outcome() { return std::move(*outcome_); }
  // The deadline is not needed any more.
  void disarm();
  // Before the consumer waits, for a call whose answer the loop brings: whether its thread drives the loop meanwhile.
  void await(bool waiter_drives);
  // The loop that brings the answer; null for a call that runs on a thread.
  const std::shared_ptr<Loop>* awaited_loop() const { return outside_call_ ? &loop_ : nullptr; }

  // Settles the call if it is not settled yet; whether it did. Any thread.
  bool complete(ToolOutcome outcome);
  // Whether it is settled.
  bool over() const { return settled_.load(std::memory_order_acquire); }

  void run() noexcept override;
  void fire() noexcept override;
  void report_progress(Json progress) const override;
  bool drive(std::unique_ptr<PolledCall> call) const override;

 private:
  enum class Thread : std::uint8_t { queued, running, returned, set_aside };
  // Whether the caller is the one who settles the call.
  bool claim();
  void settle(ToolOutcome outcome);
  // Tells telemetry of the end of the call. For the one who claimed it.
  void report_end(SpanPhase phase, TelemetryEvent event);
  void execute() noexcept;
  void set_thread_aside();
  std::shared_ptr<OutsideCall> prepare_outside_call();

  const Tool& tool_;  // of the run's tool set, which the run keeps alive
  const Json arguments_;
  const std::shared_ptr<BatchInbox> inbox_;
  const std::size_t index_;
  const std::shared_ptr<Loop> loop_;
  const std::shared_ptr<Pool> pool_;
  std::atomic<bool> settled_{false};
  std::atomic<bool> end_reported_{false};  // used only with telemetry
  std::atomic<Thread> thread_{Thread::queued};
  std::optional<ToolOutcome> outcome_;  // written by the one who settles, read after the inbox told
  std::chrono::steady_clock::time_point started_;
  const OutsideCalls& outside_;
  std::shared_ptr<OutsideCall> outside_call_;  // if it runs in another process
};

}  // namespace allm
