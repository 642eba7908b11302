#include "allm/runtime.hpp"

#include <utility>

#include "runtime/deadline.hpp"
#include "runtime/function_task.hpp"
#include "runtime/runtime_impl.hpp"

namespace allm {
Timer& Timer::operator=(Timer&& other) noexcept {
  if (this != &other) {
    cancel();
    task_ = std::move(other.task_);
  }
  return *this;
}

Timer::~Timer() { cancel(); }

void Timer::cancel() {
  if (!task_) return;
  if (const std::shared_ptr<Loop> loop = task_->loop_.lock()) loop->cancel(*task_);
  task_.reset();
}

std::shared_ptr<Runtime> Runtime::create(const RuntimeOptions& options) {
  return std::shared_ptr<Runtime>(new Runtime(std::make_unique<Impl>(options)));
}

const std::shared_ptr<Runtime>& Runtime::process() {
  // Never destroyed: handlers may run until the very end of the process.
  static const auto* const runtime = new std::shared_ptr<Runtime>(create());
  return *runtime;
}

Runtime::Runtime(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Runtime::~Runtime() {
  if (impl_->is_of_parent_process()) {
    // Leaked: the parent's threads do not exist in this process, so its mutexes may stay locked for ever.
    [[maybe_unused]] const Impl* leaked = impl_.release();
    return;
  }
  impl_->loop->stop();
  impl_->pool->stop();
}

Status Runtime::Impl::start() const {
  if (is_of_parent_process()) return std::unexpected(forked_error());
  if (loop->start_thread()) return {};
  return std::unexpected(Error(EngineError{.reason = EngineError::Reason::invalid_engine},
                               "allm's runtime cannot run: the system refuses its thread. Raise the limit on processes "
                               "of the user (RLIMIT_NPROC) or of the control group (pids.max)"));
}

RuntimeStats Runtime::stats() const { return impl_->is_of_parent_process() ? RuntimeStats() : impl_->pool->stats(); }

const RuntimeOptions& Runtime::options() const { return impl_->options; }

Timer Runtime::after(std::chrono::nanoseconds delay, std::function<void()> callback) {
  if (impl_->is_of_parent_process()) return {};
  auto task = function_task(std::move(callback));
  impl_->loop->arm(task, deadline_after(delay));
  return TimerAccess::timer(std::move(task));
}

void Runtime::post_after(std::chrono::nanoseconds delay, std::function<void()> callback) {
  if (impl_->is_of_parent_process()) return;
  impl_->loop->arm(function_task(std::move(callback)), deadline_after(delay));
}

}  // namespace allm
