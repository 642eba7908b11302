#include "tools/call.hpp"

#include <string>

#include "data/tool_errors.hpp"
#include "runtime/deadline.hpp"
#include "runtime/runtime_impl.hpp"
#include "tools/guarded.hpp"

namespace allm {
namespace {

// The completion that a handler holds. The destruction of the last copy settles the call as one without an answer.
class CompletionSink : public ToolCompletion::Sink {
 public:
  explicit CompletionSink(std::shared_ptr<PendingCall> call) : call_(std::move(call)) {}
  CompletionSink(const CompletionSink&) = delete;
  CompletionSink& operator=(const CompletionSink&) = delete;
  ~CompletionSink() override {
    if (answered_.load(std::memory_order_relaxed) || call_->over()) return;
    call_->complete(ToolFailure{no_answer_error(call_->call)});
  }
  bool complete(ToolOutcome outcome) override {
    answered_.store(true, std::memory_order_relaxed);
    return call_->complete(std::move(outcome));
  }

 private:
  std::shared_ptr<PendingCall> call_;
  std::atomic<bool> answered_{false};
};

// Asks a handler to stop. Stop callbacks are the user's code, so they run on a pool thread and not on the loop thread.
class StopRequest : public Pool::Task {
 public:
  explicit StopRequest(std::stop_source stop) : stop_(std::move(stop)) {}
  void run() noexcept override { stop_.request_stop(); }
  void fail_to_start() noexcept override { run(); }

 private:
  std::stop_source stop_;
};

}  // namespace

void BatchInbox::settled(std::size_t index) {
  Waker waker;
  {
    const std::lock_guard lock(mutex_);
    settled_.push_back(index);
    std::swap(waker, waker_);
  }
  waker.wake();
}

void BatchInbox::progress(std::size_t index, Json report) {
  Waker waker;
  {
    const std::lock_guard lock(mutex_);
    if (progress_.size() == kMaxProgress) progress_.erase(progress_.begin());
    progress_.push_back({index, std::move(report)});
    std::swap(waker, waker_);
  }
  waker.wake();
}

bool BatchInbox::take(std::vector<std::size_t>& settled, std::vector<Progress>& progress, const Waker& waker) {
  const std::lock_guard lock(mutex_);
  if (settled_.empty() && progress_.empty() && driven_.empty() && ready_.empty()) {
    waker_ = waker;
    return false;
  }
  settled.swap(settled_);
  progress.swap(progress_);
  return true;
}

void BatchInbox::drive(std::size_t index, std::unique_ptr<PolledCall> call) {
  Waker waker;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    driven_.push_back({index, std::move(call)});
    std::swap(waker, waker_);
  }
  waker.wake();
}

void BatchInbox::ready(std::size_t index) {
  Waker waker;
  {
    const std::lock_guard lock(mutex_);
    ready_.push_back(index);
    std::swap(waker, waker_);
  }
  waker.wake();
}

std::vector<BatchInbox::Driven> BatchInbox::take_driven() {
  const std::lock_guard lock(mutex_);
  return std::exchange(driven_, {});
}

std::vector<std::size_t> BatchInbox::take_ready() {
  const std::lock_guard lock(mutex_);
  return std::exchange(ready_, {});
}

void BatchInbox::close() {
  // Declared before the lock, so that the calls are destroyed without it: their destructors report to this inbox.
  std::vector<Driven> dropped;
  const std::lock_guard lock(mutex_);
  closed_ = true;
  std::swap(dropped, driven_);
}

PendingCall::PendingCall(std::shared_ptr<const Run> run_settings, const Tool& tool, ToolCall tool_call, Json arguments,
                         std::shared_ptr<BatchInbox> inbox, std::size_t index, const OutsideCalls& outside,
                         SpanId parent)
    : State(std::move(run_settings), std::move(tool_call)),
      tool_(tool),
      arguments_(std::move(arguments)),
      inbox_(std::move(inbox)),
      index_(index),
      loop_(RuntimeAccess::impl(*State::run->engine.runtime()).loop),
      pool_(RuntimeAccess::impl(*State::run->engine.runtime()).pool),
      outside_(outside) {
  span = new_span(*State::run, parent);
}

void PendingCall::dispatch(std::chrono::milliseconds timeout) {
  started_ = std::chrono::steady_clock::now();
  deadline = deadline_after(timeout, started_);
  report(*State::run, SpanKind::tool, SpanPhase::start, span, {.tool = &tool_, .tool_call = &call});
  loop_->arm(shared_from_this(), deadline);
  if (runs_outside(tool_) && !State::run->executor) {
    outside_call_ = prepare_outside_call();
    if (!outside_call_) return;
    const bool may_start = !State::run->journal || State::run->journal->may_start();
    if (may_start && outside_call_->start_now()) return;
  }
  pool_->submit(shared_from_this());
}

std::shared_ptr<OutsideCall> PendingCall::prepare_outside_call() {
  ToolCompletion done(std::make_shared<CompletionSink>(shared_from_this()));
  return outside_.prepare(*State::run->engine.runtime(), tool_, arguments_, ToolContext(shared_from_this()),
                          std::move(done));
}

void PendingCall::await(bool waiter_drives) {
  if (outside_call_) outside_call_->await(waiter_drives);
}

void PendingCall::disarm() { loop_->cancel(*this); }

bool PendingCall::claim() { return !settled_.exchange(true); }

void PendingCall::settle(ToolOutcome outcome) {
  outcome_ = std::move(outcome);
  inbox_->settled(index_);
}

bool PendingCall::complete(ToolOutcome outcome) {
  if (!claim()) {
    report(*State::run, SpanKind::tool, SpanPhase::late, span,
           {.tool = &tool_, .tool_call = &call, .outcome = &outcome});
    return false;
  }
  finish(std::move(outcome));
  return true;
}

void PendingCall::finish(ToolOutcome outcome) {
  if (State::run->telemetry != nullptr) {
    report_end(SpanPhase::stop, {.duration = std::chrono::steady_clock::now() - started_, .outcome = &outcome});
  }
  settle(std::move(outcome));
}

void PendingCall::report_end(SpanPhase phase, TelemetryEvent event) {
  if (State::run->telemetry == nullptr) return;
  event.tool = &tool_;
  event.tool_call = &call;
  report(*State::run, SpanKind::tool, phase, span, event);
  end_reported_.store(true);
  end_reported_.notify_all();
}

void PendingCall::run() noexcept {
  // `thread_` is written before `settled_` is read; claim() and set_thread_aside() use the opposite order. So a thread
  // that is set aside is counted exactly once.
  thread_.store(Thread::running);
  const bool may_start = settled_.load() || !State::run->journal || State::run->journal->wait_to_start();
  if (!may_start && claim()) finish(ToolFailure{not_run_error(call, "its run has ended")});
  if (!settled_.load()) {
    execute();
  } else if (outside_call_) {
    outside_call_->abandon();
  }
  if (thread_.exchange(Thread::returned) == Thread::set_aside) pool_->set_aside_returned();
}

void PendingCall::execute() noexcept {
  if (outside_call_) return outside_call_->start();
  const ToolCompletion done(std::make_shared<CompletionSink>(shared_from_this()));
  const ToolContext context(shared_from_this());
  run_guarded(call, done, [&] {
    if (State::run->executor) {
      State::run->executor->execute(tool_, arguments_, context, done);
    } else {
      tool_.handler(arguments_, context, done);
    }
  });
}

void PendingCall::refuse() noexcept {
  if (claim()) finish(ToolFailure{overloaded_error(call, pool_->max_set_aside())});
}

void PendingCall::fail_to_start() noexcept {
  if (outside_call_) outside_call_->abandon();
  if (claim()) finish(ToolFailure{no_thread_error(call)});
}

void PendingCall::set_thread_aside() {
  auto running = Thread::running;
  // The start of a process is allm's own code, which returns. Only for a call that runs: before that, another thread
  // may still prepare it.
  if (thread_.load() != running || !is_handler()) return;
  if (thread_.compare_exchange_strong(running, Thread::set_aside)) pool_->set_aside();
}

void PendingCall::fire() noexcept {
  if (!claim()) return;
  // Before settle(), so that the thread is counted when the result becomes visible.
  set_thread_aside();
  const auto timeout = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - started_).count();
  const Error late =
      tool_error(call, ToolError::Reason::timeout,
                 "tool '" + call.name + "' timed out: no answer within " + std::to_string(timeout) + " ms");
  const Json detail = {{"kind", "timeout"}};
  report_end(SpanPhase::exception, {.duration = deadline - started_, .error = &late, .detail = &detail});
  settle(ToolFailure{late});
  // The stop callback of a call in another process is the library's own, and kills the process: it waits for no thread.
  if (runs_outside(tool_) && !State::run->executor) {
    stop.request_stop();
  } else {
    pool_->submit(std::make_shared<StopRequest>(stop));
  }
}

bool PendingCall::abandon() {
  disarm();
  if (!claim()) {
    // The step's span must not end before the call's span.
    if (State::run->telemetry != nullptr) end_reported_.wait(false);
    return false;
  }
  set_thread_aside();
  const Json detail = {{"kind", "cancelled"}};
  report_end(SpanPhase::exception, {.duration = std::chrono::steady_clock::now() - started_, .detail = &detail});
  stop.request_stop();
  return true;
}

void PendingCall::report_progress(Json progress) const {
  if (over()) return;
  report(*State::run, SpanKind::tool, SpanPhase::progress, span,
         {.tool = &tool_, .tool_call = &call, .detail = &progress});
  if (State::run->options.on_tool_progress) inbox_->progress(index_, std::move(progress));
}

bool PendingCall::drive(std::unique_ptr<PolledCall> polled) const {
  inbox_->drive(index_, std::move(polled));
  return true;
}

}  // namespace allm
