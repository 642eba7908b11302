#include "lanes/worker.hpp"

#include <array>
#include <cerrno>
#include <string_view>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <utility>

#include "lanes/outcome_json.hpp"
#include "runtime/function_task.hpp"

namespace allm {
namespace {

// A worker is replaced after that many calls, because handlers may leak.
constexpr std::size_t kMaxCalls = 1000;
// An answer's frame is a little longer than the answer.
constexpr std::size_t kFraming = 4096;
// After the process has ended: more than the buffer of a socket holds.
constexpr int kMaxLastReads = 64;
// How long a process may take to end after it closed its line.
constexpr std::chrono::milliseconds kTimeToEnd{500};

}  // namespace

WorkerPool::Worker::Worker(std::shared_ptr<WorkerPool> pool, HiddenFd line, const ToolLimits& limits)
    : pool_(pool), loop_(pool->loop_), supervisor_(pool->supervisor_), limits_(limits), line_(std::move(line)) {}

bool WorkerPool::Worker::fits(const ToolLimits& limits) const {
  return limits.memory == limits_.memory && limits.cpu_time == limits_.cpu_time &&
         limits.open_files == limits_.open_files && limits.sandbox == limits_.sandbox;
}

bool WorkerPool::Worker::is_reusable() const {
  const std::lock_guard lock(mutex_);
  return !stopped_ && calls_ < kMaxCalls;
}

bool WorkerPool::Worker::give(const std::shared_ptr<WorkerCall>& call) {
  bool wait_to_send = false;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_ || !line_) return false;
    char byte = 0;
    // A process that died while it was idle would lose the call, and one that sent something did not wait for it.
    if (recv(line_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EAGAIN) return false;
    sending_ = call;
    sent_ = 0;
    if (!send_some()) return false;
    wait_to_send = has_to_send();
    call_ = call;
    ++calls_;
  }
  if (!watched_ || wait_to_send) {
    watched_ = true;
    loop_->post(function_task([self = shared_from_this()] { self->watch(); }));
  }
  return true;
}

bool WorkerPool::Worker::send_some() {
  const std::string_view rest = std::string_view(sending_->frame).substr(sent_);
  const ssize_t sent = send(line_.get(), rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent > 0) sent_ += static_cast<std::size_t>(sent);
  const bool ended = sent < 0 && errno != EAGAIN && errno != EINTR;
  if (ended || sent_ == sending_->frame.size()) sending_.reset();
  return !ended;
}

bool WorkerPool::Worker::stop(const WorkerCall& call) {
  std::chrono::milliseconds grace{};
  {
    const std::lock_guard lock(mutex_);
    if (call_.get() != &call) return false;
    stopped_ = true;
    grace = call_->limits.grace;
  }
  supervisor_->stop(job, grace);
  return true;
}

void WorkerPool::Worker::dismiss() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  supervisor_->stop(job, std::chrono::milliseconds(0));
}

void WorkerPool::Worker::watch() {
  if (!line_) return;
  const std::lock_guard lock(mutex_);
  loop_->watch(line_.get(), has_to_send() ? EPOLLIN | EPOLLOUT : EPOLLIN, *this);
}

void WorkerPool::Worker::flush() {
  {
    const std::lock_guard lock(mutex_);
    if (has_to_send()) send_some();
    if (has_to_send()) return;
  }
  watch();
}

void WorkerPool::Worker::ready(int /*fd*/, unsigned events) noexcept {
  const auto self = shared_from_this();
  if (!line_) return;
  if ((events & EPOLLOUT) != 0) flush();
  if ((events & ~static_cast<unsigned>(EPOLLOUT)) == 0) return;
  constexpr int kMostReads = 4;  // then other descriptors get their turn
  for (int i = 0; i < kMostReads && receive(); ++i) {
  }
}

bool WorkerPool::Worker::receive() {
  std::array<char, 65536> buffer{};
  const ssize_t got = recv(line_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) {
    line_closed();
    return false;
  }
  frames_.feed({buffer.data(), static_cast<std::size_t>(got)});
  std::size_t limit = kFraming;
  {
    const std::lock_guard lock(mutex_);
    if (call_) limit += call_->limits.output;
  }
  while (const auto frame = frames_.next(limit)) {
    if (take(*frame)) continue;
    break_off("it sent something that is not a message of a worker");
    return false;
  }
  if (frames_.exceeds(limit)) {
    break_off("it answered with more than " + std::to_string(limit - kFraming) + " bytes");
    return false;
  }
  return got == static_cast<ssize_t>(buffer.size());
}

void WorkerPool::Worker::break_off(const std::string& what_it_did) {
  if (const auto call = release_call()) {
    call->fail(ToolError::Reason::handler_exit,
               "the worker of tool '" + call->tool_name + "' was killed: " + what_it_did);
  }
  dismiss();
  line_closed();
}

bool WorkerPool::Worker::take(const std::string& frame) {
  const std::optional<WorkerMessage> message = read_worker_message(frame);
  if (!message) return false;
  switch (message->kind) {
    case WorkerMessageKind::call:
      return false;
    case WorkerMessageKind::progress:
      return take_progress(*message);
    case WorkerMessageKind::answer:
    case WorkerMessageKind::last_answer:
      take_answer(*message);
      return true;
    case WorkerMessageKind::out_of_memory:
      if (call_of(*message)) {
        is_out_of_memory_ = true;
      } else {
        ignore_message();
      }
      return true;
  }
  return false;
}

bool WorkerPool::Worker::take_progress(const WorkerMessage& message) {
  const std::shared_ptr<WorkerCall> call = call_of(message);
  if (!call) {
    ignore_message();
    return true;
  }
  Result<Json> report = parse_json(message.text);
  if (!report) return false;
  call->progress(*std::move(report));
  return true;
}

void WorkerPool::Worker::take_answer(const WorkerMessage& message) {
  if (!call_of(message)) return ignore_message();
  const Result<Json> json = parse_json(message.text);
  Result<ToolOutcome> outcome = json ? read_outcome(*json, true) : Result<ToolOutcome>(std::unexpected(json.error()));
  std::shared_ptr<WorkerCall> call;
  {
    const std::lock_guard lock(mutex_);
    call = std::exchange(call_, nullptr);
    // A worker that answers in another way than this library does is not trusted with another call.
    const bool is_correct = outcome && !has_to_send() && message.kind == WorkerMessageKind::answer;
    stopped_ = stopped_ || !is_correct;
  }
  if (!call) return;
  if (const auto pool = pool_.lock()) pool->released(shared_from_this());
  if (outcome) {
    call->answer(*std::move(outcome));
  } else {
    call->fail(ToolError::Reason::invalid_return, outcome.error().message());
  }
}

void WorkerPool::Worker::ignore_message() {
  bool is_idle = false;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    is_idle = call_ == nullptr;
  }
  // A worker with a call is dismissed when it has answered.
  if (is_idle) dismiss();
}

std::shared_ptr<WorkerCall> WorkerPool::Worker::call_of(const WorkerMessage& message) {
  const std::lock_guard lock(mutex_);
  return call_ && call_->id == message.call ? call_ : nullptr;
}

std::shared_ptr<WorkerCall> WorkerPool::Worker::release_call() {
  const std::lock_guard lock(mutex_);
  return std::exchange(call_, nullptr);
}

void WorkerPool::Worker::line_closed() {
  if (!line_) return;
  loop_->unwatch(line_.get());
  {
    const std::lock_guard lock(mutex_);
    line_.reset();
  }
  // The process supervisor reports the end of the process. A process that only closed its line can never answer, so it
  // is killed.
  auto task = function_task([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->dismiss();
  });
  kill_timer_ = TimerAccess::timer(task);
  loop_->arm(std::move(task), std::chrono::steady_clock::now() + kTimeToEnd);
}

void WorkerPool::Worker::job_ended(const JobEnd& end) noexcept {
  const auto self = shared_from_this();
  // A process that inherited the line may still write to it: what one process can have sent is read, and no more.
  for (int i = 0; i < kMaxLastReads && line_ && receive(); ++i) {
  }
  if (line_) line_closed();
  kill_timer_.cancel();
  const auto call = release_call();
  if (call) {
    if (is_out_of_memory_) {
      Json metadata = {{"out_of_memory", true}};
      if (call->limits.memory) metadata["memory"] = *call->limits.memory;
      call->fail(ToolError::Reason::handler_exit, "the worker of tool '" + call->tool_name + "' ran out of memory",
                 std::move(metadata));
    } else {
      call->answer(call->end_failure("worker", end));
    }
  }
  if (const auto pool = pool_.lock()) pool->ended(self, call != nullptr);
}

}  // namespace allm
