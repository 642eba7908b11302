#include "lanes/worker_pool.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "data/read_file.hpp"
#include "lanes/worker.hpp"
#include "process/role.hpp"
#include "process/secret_variables.hpp"
#include "runtime/function_task.hpp"

namespace allm {
namespace {

// How often queued calls are looked at whose runs have to renew their leases. Such calls are rare.
constexpr std::chrono::milliseconds kLookAgain{20};

}  // namespace

bool WorkerCall::start_now() { return pool_->try_run(shared_from_this()); }

void WorkerCall::start() {
  await(false);
  pool_->run(shared_from_this());
}

WorkerPool::WorkerPool(std::shared_ptr<Loop> loop, std::shared_ptr<Supervisor> supervisor,
                       const RuntimeOptions& options)
    : loop_(std::move(loop)), supervisor_(std::move(supervisor)), options_(options) {}

WorkerPool::~WorkerPool() = default;

void WorkerPool::close() {
  std::list<std::shared_ptr<Worker>> workers;
  std::vector<std::shared_ptr<Worker>> idle;
  std::deque<std::shared_ptr<WorkerCall>> queue;
  const std::lock_guard lock(mutex_);
  workers.swap(workers_);
  idle.swap(idle_);
  queue.swap(queue_);
}

std::shared_ptr<WorkerPool::Worker> WorkerPool::take_idle(const ToolLimits& limits) {
  const std::lock_guard lock(mutex_);
  // The last one used has the warmest caches.
  for (auto candidate = idle_.rbegin(); candidate != idle_.rend(); ++candidate) {
    if (!(*candidate)->fits(limits)) continue;
    std::shared_ptr<Worker> worker = *candidate;
    idle_.erase(std::next(candidate).base());
    return worker;
  }
  return nullptr;
}

bool WorkerPool::try_run(const std::shared_ptr<WorkerCall>& call) {
  if (mark_.is_of_parent_process()) return false;
  watch_stop(call);
  while (const std::shared_ptr<Worker> worker = take_idle(call->limits)) {
    if (give(worker, call)) return true;
    worker->dismiss();  // it died while it was idle
  }
  return false;
}

bool WorkerPool::give(const std::shared_ptr<Worker>& worker, const std::shared_ptr<WorkerCall>& call) {
  if (!worker->give(call)) return false;
  // A stop request that came before found no worker with this call.
  if (call->stop_token.stop_requested()) worker->stop(*call);
  return true;
}

void WorkerPool::watch_stop(const std::shared_ptr<WorkerCall>& call) {
  if (call->on_stop_) return;
  call->on_stop_.emplace(call->stop_token, [weak = weak_from_this(), call = std::weak_ptr(call)] {
    const auto pool = weak.lock();
    const auto stopped = call.lock();
    if (pool && stopped) pool->stop(stopped);
  });
}

void WorkerPool::run(const std::shared_ptr<WorkerCall>& call) {
  if (call->stop_token.stop_requested()) return call->abandon();
  if (try_run(call)) return;
  std::shared_ptr<Worker> replaced;
  {
    const std::lock_guard lock(mutex_);
    if (workers_.size() + starting_ >= options_.max_workers) {
      if (idle_.empty()) return queue_.push_back(call);
      // An idle worker with other limits is replaced.
      replaced = idle_.front();
      idle_.erase(idle_.begin());
      std::erase(workers_, replaced);
    }
    ++starting_;
  }
  if (replaced) replaced->dismiss();
  start_worker(call);
}

void WorkerPool::start_worker(const std::shared_ptr<WorkerCall>& call) {
  std::string error;
  const std::shared_ptr<Worker> worker = launch(call->limits, call, error);
  if (!worker) {
    return call->fail(ToolError::Reason::handler_exit, "no worker could be started: " + error);
  }
  // A stop request that came before could not reach a process without a job id.
  if (call->stop_token.stop_requested()) worker->stop(*call);
}

void WorkerPool::start_spare(const ToolLimits& limits) {
  {
    const std::lock_guard lock(mutex_);
    const auto fits = [&](const auto& worker) { return worker->fits(limits); };
    if (workers_.size() + starting_ >= options_.max_workers || std::ranges::any_of(idle_, fits)) return;
    ++starting_;
  }
  std::string error;
  if (const std::shared_ptr<Worker> worker = launch(limits, nullptr, error)) released(worker);
}

std::shared_ptr<WorkerPool::Worker> WorkerPool::launch(const ToolLimits& limits,
                                                       const std::shared_ptr<WorkerCall>& call, std::string& error) {
  HiddenFd ours;
  HiddenFd theirs;
  const bool has_line = make_socket_pair(ours, theirs);
  if (!has_line) error = errno_text(errno);
  auto worker = std::make_shared<Worker>(shared_from_this(), std::move(ours), limits);
  {
    const std::lock_guard lock(mutex_);
    --starting_;
    if (has_line) workers_.push_back(worker);
  }
  if (!has_line) return nullptr;
  // Before the process is started: if the start fails, job_ended() answers the call.
  if (call) worker->give(call);
  const auto job = supervisor_->start(
      {.is_worker = true, .environment = named_variables(options_.worker_secrets), .limits = limits, .fds = {kLineFd}},
      {theirs.get()}, worker);
  if (!job) {
    error = job.error();
    ended(worker, false);
    return nullptr;
  }
  worker->job = *job;
  theirs.reset();
  launched(worker);
  return worker;
}

void WorkerPool::launched(const std::shared_ptr<Worker>& worker) {
  bool has_answered = false;
  {
    const std::lock_guard lock(mutex_);
    worker->is_launched = true;
    has_answered = worker->has_answered_early;
  }
  if (has_answered) released(worker);
}

void WorkerPool::stop(const std::shared_ptr<WorkerCall>& call) {
  if (mark_.is_of_parent_process()) return;
  std::vector<std::shared_ptr<Worker>> workers;
  {
    const std::lock_guard lock(mutex_);
    if (std::erase(queue_, call) == 0) workers.assign(workers_.begin(), workers_.end());
  }
  std::ranges::any_of(workers, [&](const auto& worker) { return worker->stop(*call); });
  call->abandon();
}

void WorkerPool::released(const std::shared_ptr<Worker>& worker) {
  {
    const std::lock_guard lock(mutex_);
    if (!worker->is_launched) {
      worker->has_answered_early = true;
      return;
    }
    // It may have ended between its answer and the end of its launch.
    if (std::ranges::find(workers_, worker) == workers_.end()) return;
  }
  if (!worker->is_reusable()) return worker->dismiss();
  {
    const std::lock_guard lock(mutex_);
    worker->idle_since = std::chrono::steady_clock::now();
    idle_.push_back(worker);
    arm_retirement();
  }
  run_queued();
}

void WorkerPool::ended(const std::shared_ptr<Worker>& worker, bool during_call) {
  {
    const std::lock_guard lock(mutex_);
    std::erase(workers_, worker);
    std::erase(idle_, worker);
  }
  run_queued();
  // Replaces the worker now, so that the next call does not have to wait until a process has started.
  if (during_call) start_spare(worker->limits());
}

void WorkerPool::run_queued() {
  std::shared_ptr<WorkerCall> next;
  {
    const std::lock_guard lock(mutex_);
    if (queue_.empty() || (idle_.empty() && workers_.size() + starting_ >= options_.max_workers)) return;
    // A call of a run that has to renew its lease first waits, also if its session is lost: then the run stops it.
    const auto found = std::ranges::find_if(queue_, [](const auto& call) { return call->may_start(); });
    if (found == queue_.end()) return look_again();
    next = *found;
    queue_.erase(found);
  }
  run(next);
}

void WorkerPool::look_again() {
  if (look_armed_) return;
  look_armed_ = true;
  auto task = function_task([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    {
      const std::lock_guard lock(self->mutex_);
      self->look_armed_ = false;
    }
    self->run_queued();
  });
  look_ = TimerAccess::timer(task);
  loop_->arm(std::move(task), std::chrono::steady_clock::now() + kLookAgain);
}

void WorkerPool::arm_retirement() {
  if (retirement_armed_) return;
  retirement_armed_ = true;
  auto task = function_task([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->retire_idle();
  });
  retirement_ = TimerAccess::timer(task);
  loop_->arm(std::move(task), std::chrono::steady_clock::now() + options_.worker_idle_timeout);
}

void WorkerPool::retire_idle() {
  std::vector<std::shared_ptr<Worker>> retired;
  {
    const std::lock_guard lock(mutex_);
    retirement_armed_ = false;
    const auto limit = std::chrono::steady_clock::now() - options_.worker_idle_timeout;
    while (!idle_.empty() && idle_.front()->idle_since <= limit) {
      retired.push_back(idle_.front());
      idle_.erase(idle_.begin());
    }
    if (!idle_.empty()) arm_retirement();
  }
  for (const auto& worker : retired) worker->dismiss();
}

}  // namespace allm
