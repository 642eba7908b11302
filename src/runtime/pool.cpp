#include "runtime/pool.hpp"

#include <algorithm>
#include <pthread.h>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/deadline.hpp"

namespace allm {
namespace {

// A task that takes less is short.
constexpr std::chrono::microseconds kShortTask{5};
// How long a submitter spins while tasks are short.
constexpr std::chrono::microseconds kSubmitterSpinBudget{6};

}  // namespace

void Pool::submit(std::shared_ptr<Task> task) {
  if (mark_.is_of_parent_process()) return;
  std::unique_lock lock(mutex_);
  if (task->is_handler() && full()) {
    lock.unlock();
    task->refuse();
    return;
  }
  (task->is_handler() ? handlers_ : queue_).push_back(std::move(task));
  note_runnable();
  if (searching_ == 0 && running_ > 0 && short_tasks_.load(std::memory_order_relaxed)) {
    ++spinning_submitters_;
    lock.unlock();
    spin_until([this] { return runnable_.load(std::memory_order_acquire) == 0; }, kSubmitterSpinBudget);
    lock.lock();
    --spinning_submitters_;
  }
  call_thread(lock);
}

void Pool::call_thread(std::unique_lock<std::mutex>& lock) {
  if (searching_ > 0 || spinning_submitters_ > 0 || runnable() == 0) {
    lock.unlock();
    return;
  }
  if (!idle_.empty()) {
    const std::shared_ptr<PoolThread> thread = std::move(idle_.back());
    idle_.pop_back();
    thread->idle = false;
    ++searching_;
    lock.unlock();
    thread->parker.wake();
    return;
  }
  const std::size_t set_aside = set_aside_.load(std::memory_order_relaxed);
  if (threads_ >= options_.max_threads + set_aside) {
    lock.unlock();
    return;
  }
  ++threads_;
  ++searching_;
  lock.unlock();
  spawn();
}

void Pool::spawn() {
  try {
    std::thread([self = shared_from_this()] { self->run_thread(std::make_shared<PoolThread>()); }).detach();
  } catch (const std::system_error&) {
    thread_refused();
  }
}

void Pool::thread_refused() {
  std::deque<std::shared_ptr<Task>> tasks;
  std::deque<std::shared_ptr<Task>> handlers;
  {
    const std::lock_guard lock(mutex_);
    --threads_;
    --searching_;
    stopped_.notify_all();
    // The tasks wait for a thread that becomes free, or for their deadlines. Those set aside may never become free.
    if (threads_ > set_aside_.load(std::memory_order_relaxed)) return;
    tasks.swap(queue_);
    handlers.swap(handlers_);
    note_runnable();
  }
  for (const std::shared_ptr<Task>& task : tasks) task->fail_to_start();
  for (const std::shared_ptr<Task>& task : handlers) task->fail_to_start();
}

std::size_t Pool::runnable() const {
  return queue_.size() + std::min(handlers_.size(), options_.max_set_aside - running_handlers_);
}

std::shared_ptr<Pool::Task> Pool::next_task() {
  std::deque<std::shared_ptr<Task>>& tasks = queue_.empty() ? handlers_ : queue_;
  std::shared_ptr<Task> task = std::move(tasks.front());
  tasks.pop_front();
  if (&tasks == &handlers_) ++running_handlers_;
  note_runnable();
  return task;
}

std::shared_ptr<Pool::Task> Pool::take_task(std::unique_lock<std::mutex>& lock) {
  if (runnable() == 0) return nullptr;
  std::shared_ptr<Task> task = next_task();
  --searching_;
  ++running_;
  if (stopping_) stopped_.notify_all();
  call_thread(lock);
  return task;
}

void Pool::run_thread(const std::shared_ptr<PoolThread>& thread) {
  pthread_setname_np(pthread_self(), "allm-tool");
  std::unique_lock lock(mutex_);
  while (true) {
    while (std::shared_ptr<Task> task = take_task(lock)) {
      const auto started = std::chrono::steady_clock::now();
      task->run();
      const bool was_handler = task->is_handler();
      task.reset();
      const auto ended = std::chrono::steady_clock::now();
      short_tasks_.store(ended - started < kShortTask, std::memory_order_relaxed);
      lock.lock();
      --running_;
      ++searching_;
      if (was_handler) --running_handlers_;
      note_runnable();
    }
    if (searching_ == 1 && !stopping_) {
      // The only thread that is awake spins for a moment: the next call often follows at once.
      lock.unlock();
      spin_until([this] { return runnable_.load(std::memory_order_acquire) > 0; });
      lock.lock();
      if (runnable() > 0) continue;
    }
    --searching_;
    if (stopping_) {
      --threads_;
      stopped_.notify_all();
      return;
    }
    thread->idle = true;
    idle_.push_back(thread);
    lock.unlock();
    if (!park(thread)) return;
    lock.lock();
  }
}

bool Pool::park(const std::shared_ptr<PoolThread>& thread) {
  const auto deadline = deadline_after(options_.idle_timeout);
  while (true) {
    const bool woken = thread->parker.sleep_until(deadline);
    const std::lock_guard lock(mutex_);
    if (!thread->idle) return true;
    if (woken && !stopping_) continue;
    idle_.erase(std::find(idle_.begin(), idle_.end(), thread));
    --threads_;
    stopped_.notify_all();
    return false;
  }
}

void Pool::set_aside() {
  if (mark_.is_of_parent_process()) return;
  std::deque<std::shared_ptr<Task>> refused;
  std::unique_lock lock(mutex_);
  set_aside_.fetch_add(1, std::memory_order_relaxed);
  if (full()) refused.swap(handlers_);
  note_runnable();
  // The limit on threads now allows one more.
  call_thread(lock);
  for (const std::shared_ptr<Task>& task : refused) task->refuse();
}

void Pool::set_aside_returned() {
  if (mark_.is_of_parent_process()) return;
  const std::lock_guard lock(mutex_);
  set_aside_.fetch_sub(1, std::memory_order_relaxed);
  ++late_;
}

void Pool::stop() {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  const std::vector<std::shared_ptr<PoolThread>> idle = idle_;
  lock.unlock();
  for (const auto& thread : idle) thread->parker.wake();
  lock.lock();
  stopped_.wait(lock, [this] { return threads_ <= running_; });
}

RuntimeStats Pool::stats() const {
  const std::lock_guard lock(mutex_);
  return {.threads = threads_,
          .running = running_,
          .queued = queue_.size() + handlers_.size(),
          .set_aside = set_aside_.load(std::memory_order_relaxed),
          .late = late_};
}

}  // namespace allm
