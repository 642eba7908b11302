// The process supervisor: a separate process that starts and ends all other processes, and kills them when the program
// dies.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allm/runtime.hpp"

#include "process/heartbeat.hpp"
#include "process/job.hpp"
#include "process/supervisor_link.hpp"
#include "runtime/loop.hpp"

namespace allm {

// Receives the end of a job, once, on the thread that drives the loop. Must return quickly. Shared: the supervisor
// holds the listener until the job has ended, its pool or the runner may hold it longer.
class JobListener {
 public:
  virtual ~JobListener() = default;
  virtual void job_ended(const JobEnd& end) noexcept = 0;
};

// The program's side. Each runtime has one. The supervisor process is started with the first job, and again after it
// ended, was stopped or did not answer. Safe to call from any thread. Shared: calls and workers hold it and may outlive
// the runtime.
class Supervisor : public Watcher, public std::enable_shared_from_this<Supervisor> {
 public:
  // `helper` and `containment` are those of RuntimeOptions.
  Supervisor(std::shared_ptr<Loop> loop, std::string helper, Containment containment);
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;
  ~Supervisor() override;

  // Whether the supervisor process runs, so that start() does not block.
  bool is_running();
  // Starts a process with copies of `fds` and returns the job's id. The error says why there is no supervisor process,
  // or that the request is too large; a process that cannot be started is reported to the listener as ended. Never
  // waits for the supervisor process to read the request.
  std::expected<std::uint64_t, std::string> start(JobRequest request, const std::vector<int>& fds,
                                                  std::shared_ptr<JobListener> listener);
  // Sends SIGTERM to the job's process group, and SIGKILL after `grace`; SIGKILL at once if `grace` is zero.
  void stop(std::uint64_t job, std::chrono::milliseconds grace);

  // Ends every job without telling the listeners, and waits for the supervisor process. Call it when the loop has
  // stopped.
  void close();

  void ready(int fd, unsigned events) noexcept override;

 private:
  // All of these require the lock.
  // Returns an error message, empty on success.
  std::string start_supervisor();
  bool send(std::string_view text);
  // Asks for a guard, unless one waits. False with errno set.
  bool prepare_guard();
  // Watches the descriptors, on the thread that drives the loop.
  void watch_line();
  void watch_stopping();
  // Listeners to call after the lock has been released.
  using Ended = std::vector<std::pair<std::shared_ptr<JobListener>, JobEnd>>;
  // Reads the supervisor's messages; false if the supervisor process has ended.
  bool take_reports(Ended& ended);
  void take_end(JobEnd end, bool waits, Ended& ended);
  // All jobs have ended with the supervisor process.
  void lose_jobs(Ended& ended, const std::string& why);
  // Ends the supervisor process and all jobs; the listeners are told by the thread that drives the loop.
  void replace_supervisor(const std::string& why);
  void arm_heartbeat();

  // Without the lock.
  static void notify(const Ended& ended);
  void beat();

  const std::shared_ptr<Loop> loop_;
  const std::string helper_;
  const Containment containment_;
  const ForkMark mark_;  // a forked child leaves the supervisor process to its parent
  std::mutex mutex_;
  SupervisorLink link_;
  Heartbeat heartbeat_;
  bool heartbeat_armed_ = false;
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, std::shared_ptr<JobListener>> listeners_;
  std::set<std::uint64_t> stopping_;
  std::optional<Loop::Awaited> awaited_;  // held while a job is stopping, because no call waits for its end
};

}  // namespace allm
