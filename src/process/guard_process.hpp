// The guard process itself: a fork of the process supervisor.
#pragma once

#include <chrono>
#include <string>
#include <sys/types.h>
#include <vector>

#include "process/cgroup.hpp"
#include "process/fd.hpp"
#include "process/guard.hpp"
#include "process/job.hpp"
#include "process/pid_namespace.hpp"

namespace allm {

class GuardProcess {
 public:
  // The descriptors are the guard's; it closes all others that it inherited.
  GuardProcess(const GuardPlan& plan, const IdMaps& maps, int line, int place, JobCgroup cgroup);
  // Runs the jobs that the program sends. Never returns to the code of the supervisor.
  [[noreturn]] void run();

 private:
  struct Job {
    JobRequest request;
    std::vector<Fd> fds;  // one for each element of request.fds
  };

  void close_inherited() const;
  void set_up();
  // Makes what the next job needs.
  void get_ready();
  // Waits for the program to send one. Ends this process if there will be none.
  Job receive_job();
  // Runs a job to its end. Returns if the tool has ended by itself and left no process behind.
  void serve(Job& job);
  void start(Job& job);
  // Waits for an event; ends this process if the job is to be ended.
  void turn();
  void obey();
  // Reaps what has ended.
  void reap();
  // Blocks for at most about `limit`, also if not all have ended.
  void end_tree(std::chrono::milliseconds limit);
  void end_namespace();
  // Tells the program that the tool has ended with status 0, if it wants to know it from here. False if it has to be
  // reported.
  bool tell_program();
  void drain_error_output();
  void report(bool waits);
  [[noreturn]] void leave();
  void remove_cgroups() const;

  const GuardPlan plan_;
  const IdMaps maps_;
  const int line_;
  const int place_;
  const JobCgroup cgroup_;
  bool is_alone_ = false;  // supervisor or program have ended
  Fd child_signals_;
  std::string failure_;  // of the set-up
  pid_t tool_ = 0;       // 0 when it has been reaped
  bool needs_error_output_ = true;
  Fd error_output_;   // read end
  Fd error_writer_;   // write end, kept open so that a tool that closes it does not wake this process up
  std::string tail_;  // last bytes of the error output
  JobEnd end_;
};

}  // namespace allm
