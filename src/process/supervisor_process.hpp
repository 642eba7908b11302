// The process supervisor's own side: the process that starts jobs for the program, ends them, and outlives neither it
// nor them.
//
// It is small, has one thread and does nothing else, so that whatever the program's threads do it knows its children;
// and because the jobs are its children and not the program's, the program's own waiting for children never meets them.
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
  // `line` leads to the program, whose id is `program`.
  SupervisorProcess(int line, pid_t program);
  // Until the program has gone; then kills what is left. Returns the exit status.
  int run();

 private:
  using Clock = std::chrono::steady_clock;
  struct Job {
    pid_t pid = 0;
    Fd error_output;
    std::string tail;  // of what it wrote there
    std::optional<Clock::time_point> kill_at;
  };

  // False when the program is gone.
  bool turn();
  bool receive();
  void obey(const Json& message);
  void start(const JobRequest& request);
  void stop(std::uint64_t id, std::chrono::milliseconds grace);
  void kill_overdue();
  int milliseconds_to_next_kill() const;
  // Ends of children, of jobs and of others that became ours.
  void reap();
  void end_job(std::map<std::uint64_t, Job>::iterator job, int wait_status);
  // Kills children that no running job has left behind: those that made themselves a session of their own.
  void kill_strays();
  void kill_everything();
  void tell(const JobEnd& end);

  const int line_;
  const pid_t program_;
  Fd program_watch_;
  Fd child_signals_;
  FrameReader frames_;
  std::vector<Fd> received_fds_;
  std::map<std::uint64_t, Job> jobs_;
  std::string outgoing_;  // what the program has not taken yet
};

}  // namespace allm
