// The supervisor process itself: starts and ends jobs for the program, and ends when the program does.
//
// It is small and has one thread. Each job has a guard (guard.hpp), which is a child of the supervisor and not of the
// program, so the program's own wait() and SIGCHLD handling never see it.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <poll.h>
#include <set>
#include <span>
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
  // A guard, and the job that it runs or waits for.
  struct Place {
    Guard guard;
    FrameReader frames = {};
    std::optional<Clock::time_point> kill_at = std::nullopt;
    bool is_killed = false;  // the guard was told to end its job
  };
  using Places = std::map<std::uint64_t, Place>;
  struct NewPlace {
    std::uint64_t number = 0;
    Fd line = {};                     // the guard's end
    Clock::time_point guard_at = {};  // when a guard is started, even if no job has been sent
  };

  // False when the program has ended.
  bool turn();
  bool receive();
  void handle(const Json& message);
  void contain(const std::string& kind);
  // The program will send jobs over the line that it has sent with the message.
  void add_place(std::uint64_t number);
  // Looks whether new places have got a job or were given up.
  void look_at_new_places(std::span<const pollfd> lines);
  void start_guard_for(const NewPlace& place);
  void stop(std::uint64_t number, std::chrono::milliseconds grace);
  void kill_overdue();
  void kill(Place& place);
  int milliseconds_to_next_event() const;
  // Takes the report of a guard; false if it has not come yet.
  bool take_report(Places::iterator place);
  // Reaps guards, and orphans of guards that were killed.
  void reap();
  void lose_guard(pid_t guard);
  // The guard of a place has ended, or could not be started, and the job that the place may have ends like this.
  void give_up(std::uint64_t number, const JobEnd& end);
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
  Places places_;
  std::deque<NewPlace> new_places_;
  std::set<pid_t> ended_guards_;  // that have reported their last job and are not reaped yet
  SendQueue outgoing_;
};

}  // namespace allm
