// The runtime: every thread that allm starts.
//
// One loop runs timers and every HTTP exchange, on a thread of its own or on a thread that waits for an exchange. Tool
// handlers run on an elastic pool that grows when handlers block and shrinks when they do not. A program has one
// runtime unless it makes its own.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace allm {

struct RuntimeOptions {
  // Threads for handlers. Calls beyond it wait in a queue, their deadlines running.
  std::size_t max_threads = 4096;
  // Handlers that overstayed their deadline and still run. Their threads are replaced, so this
  // bounds what code that never returns can cost; beyond it calls fail at once with ToolError
  // `overloaded`.
  std::size_t max_set_aside = 1024;
  // How long a thread without work is kept.
  std::chrono::milliseconds idle_timeout = std::chrono::seconds(5);
  // Worker processes. Calls beyond it wait, their deadlines running.
  std::size_t max_workers = 64;
  // How long one without work is kept: longer than a thread, because starting one takes milliseconds.
  std::chrono::milliseconds worker_idle_timeout = std::chrono::seconds(30);
  // The path of the executable that starts and ends commands and is the worker processes, for programs whose main does
  // not call run_as_worker_if_asked. Empty: found as docs/tool-lanes.md says.
  std::string helper = {};
};

struct RuntimeStats {
  std::size_t threads = 0;    // of the pool, set aside ones included
  std::size_t running = 0;    // handlers running now, set aside ones included
  std::size_t queued = 0;     // handlers waiting for a thread
  std::size_t set_aside = 0;  // handlers running past their deadline or for a dropped run
  std::uint64_t late = 0;     // handlers that returned after they had been set aside
};

// A timer. Destroying it cancels it; a callback that is running then is not waited for.
class Timer {
 public:
  Timer() = default;
  Timer(Timer&&) noexcept = default;
  Timer& operator=(Timer&& other) noexcept;
  ~Timer();
  void cancel();

 private:
  friend class TimerAccess;
  class Task;
  explicit Timer(std::shared_ptr<Task> task) : task_(std::move(task)) {}
  std::shared_ptr<Task> task_;
};

// Safe to use from any thread. A process that was forked from the one that made the runtime cannot use it, because
// threads do not survive fork(): runs fail with EngineError `invalid_engine`, timers never fire. Such a child makes a
// runtime of its own.
class Runtime {
 public:
  static std::shared_ptr<Runtime> create(RuntimeOptions options = {});
  // The process's runtime, made at its first use and never torn down.
  static const std::shared_ptr<Runtime>& process();

  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  // Stops the loop and waits for idle threads. Handlers that still run keep what they need alive
  // and end on their own.
  ~Runtime();

  RuntimeStats stats() const;
  const RuntimeOptions& options() const;

  // Calls `callback` on the loop once, not before `delay`: on the loop's thread, or on a thread that waits for a
  // stream. It must return quickly and not throw.
  [[nodiscard]] Timer after(std::chrono::nanoseconds delay, std::function<void()> callback);
  // The same without a way to cancel it; only the runtime's end keeps it from being called.
  void post_after(std::chrono::nanoseconds delay, std::function<void()> callback);

 private:
  friend class RuntimeAccess;
  class Impl;
  explicit Runtime(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace allm
