// The process supervisor: a process of our own that starts and ends all others, and kills them if the program dies.
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
#include <sys/types.h>
#include <utility>
#include <vector>

#include "process/fd.hpp"
#include "process/frames.hpp"
#include "process/job.hpp"
#include "runtime/loop.hpp"

namespace allm {

// Told of the end of a job, once, by whoever drives the loop. Must return quickly.
class JobListener {
 public:
  virtual ~JobListener() = default;
  virtual void job_ended(const JobEnd& end) noexcept = 0;
};

// The program's side. One for a runtime; the process is started with the first job, and again if it died. Safe from any
// thread.
class Supervisor : public Watcher, public std::enable_shared_from_this<Supervisor> {
 public:
  explicit Supervisor(std::shared_ptr<Loop> loop);
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;
  ~Supervisor() override;

  // Whether the process supervisor is there, so that starting a job takes no time.
  bool is_running();
  // Starts a process that gets copies of `fds`. Its id; or why there is no supervisor, in words. What goes wrong in
  // starting the process itself is its end.
  std::expected<std::uint64_t, std::string> start(JobRequest request, const std::vector<int>& fds,
                                                  std::shared_ptr<JobListener> listener);
  // Asks it to end and kills it, with all of its group, after `grace`; at once if that is zero.
  void stop(std::uint64_t job, std::chrono::milliseconds grace);

  // Kills every job, tells nobody, and waits for the process supervisor. For the end, when the loop has stopped.
  void close();

  void ready(int fd, unsigned events) noexcept override;

 private:
  // With the lock held. Why there is none, if there is none.
  std::string start_supervisor();
  void watch_stopping();
  // Who has to be told of what, without the lock.
  using Ended = std::vector<std::pair<std::shared_ptr<JobListener>, JobEnd>>;
  static void tell(const Ended& ended);
  // What the process supervisor has said; false if it is gone.
  bool take_reports(Ended& ended);
  // It is gone, and its jobs with it.
  void lose_supervisor(Ended& ended);
  // The same for a thread that does not drive.
  void replace_supervisor();

  const std::shared_ptr<Loop> loop_;
  std::mutex mutex_;
  Fd line_;
  pid_t pid_ = 0;
  FrameReader frames_;
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, std::shared_ptr<JobListener>> listeners_;
  std::set<std::uint64_t> stopping_;
  std::optional<Loop::Reader> reader_;  // while any is stopping: nobody else waits for those
};

}  // namespace allm
