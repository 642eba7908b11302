// The program's connection to one supervisor process.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "allm/json.hpp"
#include "allm/runtime.hpp"

#include "process/fd.hpp"
#include "process/frames.hpp"
#include "process/send_queue.hpp"

namespace allm {

// The descriptors that the loop watches.
struct WatchedFds {
  HiddenFd line;
  HiddenFd ends;
};

// One thread at a time. No call waits for the supervisor process, except end() and close().
class SupervisorLink {
 public:
  SupervisorLink() = default;
  SupervisorLink(const SupervisorLink&) = delete;
  SupervisorLink& operator=(const SupervisorLink&) = delete;
  ~SupervisorLink() { close(); }

  // Starts the process. Returns an error message, empty on success.
  std::string open(const std::string& helper, Containment containment);
  bool is_open() const { return static_cast<bool>(line_); }
  int line() const { return line_.get(); }
  int ends() const { return ends_.get(); }

  // Sends a message, or keeps it until flush(). False with errno set if the process has ended.
  bool send(std::string_view text, const std::vector<int>& fds = {});
  bool flush() { return outgoing_.flush(line_.get()); }
  std::size_t unsent_bytes() const { return outgoing_.size(); }
  // Asks the supervisor for a guard, unless one waits for a job. False with errno set if the supervisor has ended, or
  // without descriptors.
  bool prepare();
  // Sends a job to a guard that waits, or to where its guard will find it; there is one after prepare(). False with
  // errno set if that is not possible; no process was started then.
  bool give(std::uint64_t job, const std::string& request, const std::vector<int>& fds);
  // Asks the supervisor to stop a job.
  bool stop(std::uint64_t job, std::chrono::milliseconds grace);
  // The job of a place whose guard has ended; 0 if it had none.
  std::uint64_t lose_place(std::uint64_t number);
  // Call it for each job that has ended; `waits` says whether its guard takes another one.
  void job_ended(std::uint64_t job, bool waits);
  // Adds the messages that have arrived; false if the process has ended.
  bool receive(std::vector<Json>& messages);
  // Jobs that have ended with status 0, as their guards tell. Says nothing about the process itself.
  std::vector<std::uint64_t> receive_ends();
  // Whether somebody has stopped or killed the process.
  bool is_stopped() const;
  bool has_ended() const { return pid_ > 0 && has_ended(0); }

  // Kills the process and all that it has started, and reaps it. Returns the descriptors, which the thread that drives
  // the loop closes, so that their numbers are not reused while the loop still watches them. Blocks for milliseconds,
  // if a tool has interfered for at most seconds.
  WatchedFds end();
  // Lets the process end its jobs and then itself, and reaps it. Blocks until then, but not for a process that hangs.
  void close();

 private:
  // After fork(), the supervisor process belongs to the parent.
  bool is_owner() const;
  bool has_ended(int milliseconds) const;
  void signal(int number) const;
  // Stops the process, so that it starts nothing. False if it has ended or is just ending: a process closes its
  // descriptors a moment before its children get another parent. Its guards then end their jobs themselves.
  bool stop_process() const;
  // Ends the guards of the stopped process, and their jobs.
  void end_guards() const;
  void reap();
  WatchedFds take_watched();

  // Where a guard takes its jobs, one at a time.
  struct Place {
    std::uint64_t number = 0;
    HiddenFd line = {};
    std::uint64_t job = 0;     // 0 if it has none
    bool is_stopping = false;  // an order may reach the guard after the job, so it gets no other one
  };

  HiddenFd line_;
  HiddenFd ends_;  // see kEndsFd
  std::vector<Place> places_;
  std::uint64_t last_place_ = 0;
  HiddenFd lifeline_;
  Fd process_;  // pidfd
  pid_t pid_ = 0;
  pid_t owner_ = 0;                                   // the process that started it
  Containment containment_ = Containment::automatic;  // the kind that the supervisor has chosen, once it has told
  std::string cgroup_;                                // of all its jobs
  FrameReader frames_;
  SendQueue outgoing_;
};

}  // namespace allm
