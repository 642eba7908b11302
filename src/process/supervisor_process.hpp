// The supervisor process itself: starts and ends jobs for the program, and ends when the program does.
//
// It is small and has one thread. Jobs are children of the supervisor and not of the program, so the program's own
// wait() and SIGCHLD handling never see them.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "process/fd.hpp"
#include "process/frames.hpp"
#include "process/job.hpp"

namespace allm {

class SupervisorProcess {
 public:
  // `line` is the socket to the program, `program` its process id.
  SupervisorProcess(int line, pid_t program);
  // Runs until the program has ended, then kills the remaining jobs. Returns the exit status.
  int run();

 private:
  using Clock = std::chrono::steady_clock;
  struct Job {
    pid_t pid = 0;
    Fd error_output;
    std::string tail;  // last bytes of the error output
    std::optional<Clock::time_point> kill_at;
  };

  // False when the program has ended.
  bool turn();
  bool receive();
  void handle(const Json& message);
  void start(const JobRequest& request);
  void stop(std::uint64_t id, std::chrono::milliseconds grace);
  void kill_overdue();
  int milliseconds_to_next_kill() const;
  // Reaps children: jobs, and orphans that were reparented to this process.
  void reap();
  void end_job(std::map<std::uint64_t, Job>::iterator job, int wait_status);
  // Kills orphans of ended jobs: processes that had started a session of their own.
  void kill_strays();
  void kill_everything();
  void report(const JobEnd& end);

  const int line_;
  const pid_t program_;
  Fd program_watch_;
  Fd child_signals_;
  FrameReader frames_;
  std::vector<Fd> received_fds_;
  std::map<std::uint64_t, Job> jobs_;
  std::string outgoing_;  // bytes that the program has not received yet
};

}  // namespace allm
