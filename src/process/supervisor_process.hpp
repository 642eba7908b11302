// The supervisor process itself: starts and ends jobs for the program, and ends when the program does.
//
// It is small and has one thread. Each job has a guard (guard.hpp), which is a child of the supervisor and not of the
// program, so the program's own wait() and SIGCHLD handling never see it.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <sys/types.h>
#include <vector>

#include "process/cgroup.hpp"
#include "process/fd.hpp"
#include "process/frames.hpp"
#include "process/guard.hpp"
#include "process/job.hpp"
#include "process/send_queue.hpp"

namespace allm {

class SupervisorProcess {
 public:
  // `line` is the socket to the program, `lifeline` a pipe that the program holds open, `ends` the pipe of
  // kEndsFd, `program` the program's process id.
  SupervisorProcess(int line, int lifeline, int ends, pid_t program);
  // Runs until the program has ended, then ends the remaining jobs. Returns the exit status.
  int run();

 private:
  using Clock = std::chrono::steady_clock;
  struct Job {
    Guard guard;
    Fd error_output;  // read end
    Fd error_writer;  // write end, kept open so that the end of the tool does not wake this process up
    FrameReader frames = {};
    std::string tail = {};  // last bytes of the error output
    std::optional<Clock::time_point> kill_at = std::nullopt;
    bool is_killed = false;  // the guard was told to end the job
  };
  using Jobs = std::map<std::uint64_t, Job>;

  // False when the program has ended.
  bool turn();
  bool receive();
  void handle(const Json& message, const std::string& text);
  void contain(const std::string& kind);
  void start(const Json& message, const std::string& text);
  // The guard that waits for a job, after the job was sent to it; nullopt if none waits, or if the job does not fit.
  std::optional<Guard> spare_with(const std::string& text, const GuardJob& job);
  void prepare_spare();
  // Gives the guard of a short job the time to become the next spare.
  void prepare_spare_later();
  void stop(std::uint64_t id, std::chrono::milliseconds grace);
  void kill_overdue();
  void kill(Job& job);
  int milliseconds_to_next_event() const;
  // Takes the report of a guard; false if it has not come yet.
  bool take_report(Jobs::iterator job);
  // Reaps guards, and orphans of guards that were killed.
  void reap();
  void lose_guard(pid_t guard);
  void finish(Jobs::iterator job, JobEnd end, bool is_told = false);
  bool is_guard(pid_t pid) const;
  void end_strays(std::chrono::milliseconds limit);
  void end_everything();
  void send(const Json& message);

  const int line_;
  const pid_t program_;
  Fd program_watch_;
  Fd child_signals_;
  GuardPlan plan_;
  SupervisorCgroup cgroup_;  // for containment by cgroups
  std::string refusal_;      // why no job can be started
  FrameReader frames_;
  std::vector<Fd> received_fds_;
  Jobs jobs_;
  std::set<pid_t> ended_guards_;               // that have reported and are not reaped yet
  std::optional<Guard> spare_;                 // waits for its job, so that a start need not wait for a fork
  std::optional<Clock::time_point> spare_at_;  // when one is prepared
  SendQueue outgoing_;
};

}  // namespace allm
