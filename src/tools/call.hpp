// One tool call: runs it on a pool thread or in another process, until its answer, its deadline or a cancellation
// settles it.
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

// Collects the reports of a batch's calls. Shared by the batch and its calls, because either may outlive the other.
// Safe to call from any thread.
class BatchInbox {
 public:
  struct Progress {
    std::size_t index;
    Json report;
  };
  void settled(std::size_t index);
  void progress(std::size_t index, Json report);
  // Hands a call to the batch, which polls it. Dropped if the inbox is closed.
  void drive(std::size_t index, std::unique_ptr<PolledCall> call);
  // Requests that the batch polls such a call.
  void ready(std::size_t index);
  // Moves all reports out and returns true. Without a report, it returns false and calls `waker` at the next report.
  bool take(std::vector<std::size_t>& settled, std::vector<Progress>& progress, const Waker& waker);
  struct Driven {
    std::size_t index;
    std::unique_ptr<PolledCall> call;
  };
  std::vector<Driven> take_driven();
  std::vector<std::size_t> take_ready();
  // Called when the batch is destroyed. Calls that are handed to drive() from now on are dropped.
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

// Shared by the batch, the pool thread that runs it, the timer, every completion and every copy of the context, each of
// which may be the last to use it.
class PendingCall : public Pool::Task,
                    public LoopTask,
                    public ToolContext::State,
                    public std::enable_shared_from_this<PendingCall> {
 public:
  PendingCall(std::shared_ptr<const Run> run_settings, const Tool& tool, ToolCall call, Json arguments,
              std::shared_ptr<BatchInbox> inbox, std::size_t index, const OutsideCalls& outside, SpanId parent);

  // Arms the deadline and hands the call to the pool.
  void dispatch(std::chrono::milliseconds timeout);
  // Settles the call because the run does not need its result any more. Returns false if it was already settled.
  bool abandon();
  // The call's outcome. Only after the inbox reported the call as settled.
  ToolOutcome take_outcome() { return std::move(*outcome_); }
  // Cancels the deadline.
  void disarm();
  // Called before the consumer waits for a call whose answer the loop delivers; `waiter_drives` says whether the
  // consumer's thread drives the loop meanwhile.
  void await(bool waiter_drives);
  // The loop that delivers the answer; null for a call that runs on a pool thread.
  const std::shared_ptr<Loop>* awaited_loop() const { return outside_call_ ? &loop_ : nullptr; }

  // Settles the call and returns true, or returns false if it was already settled. Safe to call from any thread.
  bool complete(ToolOutcome outcome);
  // Whether it is settled.
  bool over() const { return settled_.load(std::memory_order_acquire); }

  void run() noexcept override;
  bool is_handler() const override { return !outside_call_; }
  void refuse() noexcept override;
  void fail_to_start() noexcept override;
  void fire() noexcept override;
  void report_progress(Json progress) const override;
  bool drive(std::unique_ptr<PolledCall> call) const override;

 private:
  enum class Thread : std::uint8_t { queued, running, returned, set_aside };
  // Returns true to exactly one caller, which then settles the call.
  bool claim();
  void settle(ToolOutcome outcome);
  // Reports the end and settles the call. Only for the caller whose claim() returned true.
  void finish(ToolOutcome outcome);
  // Reports the end of the call to telemetry. Only for the caller whose claim() returned true.
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
  std::optional<ToolOutcome> outcome_;  // written by settle(), read after the inbox reported it
  std::chrono::steady_clock::time_point started_;
  const OutsideCalls& outside_;
  std::shared_ptr<OutsideCall> outside_call_;  // if it runs in another process
};

}  // namespace allm
