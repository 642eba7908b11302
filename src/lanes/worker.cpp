#include "lanes/worker.hpp"

#include <array>
#include <cerrno>
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
// How long a process may take to end after it closed its line.
constexpr std::chrono::milliseconds kTimeToEnd{500};

}  // namespace

WorkerPool::Worker::Worker(std::shared_ptr<WorkerPool> pool, Fd line, const ToolLimits& limits)
    : pool_(pool), loop_(pool->loop_), supervisor_(pool->supervisor_), limits_(limits), line_(std::move(line)) {}

bool WorkerPool::Worker::fits(const ToolLimits& limits) const {
  return limits.memory == limits_.memory && limits.open_files == limits_.open_files &&
         limits.sandbox == limits_.sandbox;
}

bool WorkerPool::Worker::is_reusable() const {
  const std::lock_guard lock(mutex_);
  return !stopped_ && calls_ < kMaxCalls;
}

bool WorkerPool::Worker::give(const std::shared_ptr<WorkerCall>& call) {
  bool wait_to_send = false;
  {
    const std::lock_guard lock(mutex_);
    char byte = 0;
    // A process that died while it was idle would lose the call.
    if (recv(line_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EAGAIN) return false;
    ssize_t sent = send(line_.get(), call->frame.data(), call->frame.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) return false;
    sent = std::max<ssize_t>(sent, 0);
    outgoing_ = call->frame.substr(static_cast<std::size_t>(sent));
    wait_to_send = !outgoing_.empty();
    call_ = call;
    ++calls_;
  }
  if (!watched_ || wait_to_send) {
    watched_ = true;
    loop_->post(function_task([self = shared_from_this()] { self->watch(); }));
  }
  return true;
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
  loop_->watch(line_.get(), outgoing_.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT, *this);
}

void WorkerPool::Worker::flush() {
  {
    const std::lock_guard lock(mutex_);
    const ssize_t sent = send(line_.get(), outgoing_.data(), outgoing_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) outgoing_.erase(0, static_cast<std::size_t>(sent));
    if (sent < 0 && errno != EAGAIN) outgoing_.clear();
    if (!outgoing_.empty()) return;
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
  while (const auto frame = frames_.next(limit)) take(*frame);
  if (!frames_.exceeds(limit)) return got == static_cast<ssize_t>(buffer.size());
  if (const auto call = release_call()) {
    call->fail(ToolError::Reason::handler_exit, "the worker of tool '" + call->tool_name +
                                                    "' was killed: it answered with more than " +
                                                    std::to_string(call->limits.output) + " bytes");
  }
  dismiss();
  line_closed();
  return false;
}

void WorkerPool::Worker::take(const std::string& frame) {
  Result<Json> message = parse_json(frame);
  if (!message || !message->is_object() || message->empty()) return;
  if (message->begin().key() == "progress") {
    std::shared_ptr<WorkerCall> call;
    {
      const std::lock_guard lock(mutex_);
      call = call_;
    }
    if (call) call->progress(std::move(message->begin().value()));
    return;
  }
  if (message->begin().key() == "out_of_memory") {
    is_out_of_memory_ = true;
    return;
  }
  if (message->begin().key() == "last") {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    return;
  }
  const std::shared_ptr<WorkerCall> call = release_call();
  if (!call) return;
  Result<ToolOutcome> outcome = read_outcome(*message, true);
  if (const auto pool = pool_.lock()) pool->released(shared_from_this());
  if (outcome) {
    call->answer(*std::move(outcome));
  } else {
    call->fail(ToolError::Reason::invalid_return, outcome.error().message());
  }
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
  while (line_ && receive()) {
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
