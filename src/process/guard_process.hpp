// The guard process itself: a fork of the process supervisor.
#pragma once

#include <chrono>
#include <string>
#include <sys/types.h>

#include "process/cgroup.hpp"
#include "process/fd.hpp"
#include "process/guard.hpp"
#include "process/pid_namespace.hpp"

namespace allm {

class GuardProcess {
 public:
  // The descriptors are the guard's; it closes all others that it inherited.
  GuardProcess(const GuardPlan& plan, const IdMaps& maps, int line, JobCgroup cgroup);
  // Runs this job, if there is one, and then those that the supervisor sends. Never returns to the code of the
  // supervisor.
  [[noreturn]] void run(GuardJob* job);

 private:
  void close_inherited(const GuardJob* job) const;
  void set_up();
  // Waits for the supervisor to send one. Ends this process if it is not needed any more.
  GuardJob receive_job();
  // Runs a job to its end. Returns if the tool has ended by itself and left no process behind.
  void serve(GuardJob& job);
  void start(GuardJob& job);
  // Waits for an event; ends this process if the job is to be ended.
  void turn();
  void obey();
  // Reaps what has ended.
  void reap();
  // Blocks for at most about `limit`, also if not all have ended.
  void end_tree(std::chrono::milliseconds limit);
  void end_namespace();
  // Tells the program that the tool has ended with status 0, if it wants to know it from here.
  void tell_program();
  void report(bool waits);
  [[noreturn]] void leave();
  void remove_cgroups() const;

  const GuardPlan plan_;
  const IdMaps maps_;
  const int line_;
  const JobCgroup cgroup_;
  bool is_alone_ = false;  // supervisor or program have ended
  Fd child_signals_;
  std::string failure_;  // of the set-up
  pid_t tool_ = 0;       // 0 when it has been reaped
  bool needs_error_output_ = true;
  bool is_told_ = false;
  JobEnd end_;
};

}  // namespace allm
