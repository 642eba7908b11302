// The runtime owns every thread that allm starts.
//
// One loop runs timers and every HTTP exchange, on a thread of its own or on a thread that waits for an exchange. Tool
// handlers run on a pool of threads that grows when handlers block and shrinks when they do not. A program has one
// runtime, Runtime::process(), unless it makes others.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace allm {

// How all processes that a worker or command starts are kept together, so that they end with it.
enum class Containment : std::uint8_t {
  automatic,  // the first of the following that this machine allows
  // Each worker and command has a PID namespace, where the kernel ends all of its processes at once, and from where no
  // process outside can be signalled. Users other than root get a user namespace too: programs with the setuid bit,
  // such as sudo, have no effect there, and files of other users seem to belong to nobody, which ssh refuses. What root
  // mounts there is not visible outside.
  pid_namespace,
  // Each has a cgroup (version 2, with cgroup.kill) below that of the program. For tools that a namespace disturbs. A
  // hostile tool can signal the process supervisor, and can leave its cgroup where the user may write to another one.
  cgroup,
  // The process supervisor looks for all descendants, stops all of them and then kills them. Works everywhere. A
  // hostile tool can signal the process supervisor.
  sweep,
};

struct RuntimeOptions {
  // The maximum number of threads for handlers. Further calls wait in a queue; their deadlines include this wait.
  std::size_t max_threads = 4096;
  // The maximum number of handlers that are set aside: that still run after their deadline, or after their run was
  // dropped. The pool starts a new thread for each of them, so this option limits the threads that are lost to handlers
  // which never return. It is never exceeded, whatever handlers do: because each handler may become such a one, it is
  // also the maximum number of handlers that run at once on threads. Further calls wait; their deadlines include this
  // wait. If the limit is reached by handlers that are set aside, calls fail at once with ToolError `overloaded`, and
  // so do those that wait.
  std::size_t max_set_aside = 1024;
  // How long a thread without work is kept.
  std::chrono::milliseconds idle_timeout = std::chrono::seconds(5);
  // The maximum number of worker processes. Further calls wait; their deadlines include this wait.
  std::size_t max_workers = 64;
  // How long a worker without work is kept: longer than a thread, because starting a process takes milliseconds.
  std::chrono::milliseconds worker_idle_timeout = std::chrono::seconds(30);
  // The path of the executable that runs as process supervisor and as worker, for programs whose main does not call
  // run_as_worker_if_asked. Empty: allm searches for it as docs/tool-lanes.md describes.
  std::string helper = {};
  // Whether other processes of the same user are kept from the program's memory and environment, which hold its keys,
  // from the first worker or command on (PR_SET_DUMPABLE; root is not kept from them). Then the program writes no core
  // dump, and a debugger can start it but not attach to it. Sandboxed tools are kept from them in any case. Not set in
  // builds with a sanitizer.
  bool protect_memory = true;
  // Names of environment variables with secrets that workers get. All others are removed from their environment;
  // docs/tool-lanes.md says which variables count as secrets. For workers whose WorkerOptions::engine needs a key.
  std::vector<std::string> worker_secrets = {};
  // A kind that this machine does not allow makes calls of workers and commands fail; `automatic` never does.
  Containment containment = Containment::automatic;
};

struct RuntimeStats {
  std::size_t threads = 0;    // of the pool, including those set aside
  std::size_t running = 0;    // handlers running now, including those set aside
  std::size_t queued = 0;     // handlers waiting for a thread
  std::size_t set_aside = 0;  // handlers running past their deadline or for a dropped run
  std::uint64_t late = 0;     // handlers that returned after they had been set aside
};

// A timer. Destroying it cancels it, but does not wait for a callback that is already running. One thread at a time.
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
// threads do not survive fork(): runs and streams fail with EngineError `invalid_engine`, and timers never fire. Such a
// process must make a runtime of its own with create(). If the system refuses the loop's thread, runs fail with the
// same error, and timers wait until a thread can be started.
class Runtime {
 public:
  // Throws std::system_error if the system has no descriptors left, as the first call of process() does.
  static std::shared_ptr<Runtime> create(const RuntimeOptions& options = {});
  // The runtime of the process, made at its first use and never destroyed.
  static const std::shared_ptr<Runtime>& process();

  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  // Stops the loop and waits for threads without work. Does not wait for handlers that still run: they share ownership
  // of everything that allm gave them.
  ~Runtime();

  RuntimeStats stats() const;
  const RuntimeOptions& options() const;

  // Calls `callback` once, after `delay`, on the thread that runs the loop: the loop's own thread, or a thread that
  // waits for a stream. The callback must return quickly and must not throw. Destroying the timer cancels the call.
  [[nodiscard]] Timer after(std::chrono::nanoseconds delay, std::function<void()> callback);
  // As after(), but the call cannot be cancelled. `callback` is not called if the runtime is destroyed before.
  void post_after(std::chrono::nanoseconds delay, std::function<void()> callback);

 private:
  friend class RuntimeAccess;
  class Impl;
  explicit Runtime(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace allm
