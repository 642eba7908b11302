// Ends trees of processes whose members may start others meanwhile.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace allm {

// The children of a process, of all its threads. Empty if the process is gone.
std::vector<pid_t> children_of(pid_t parent);
// The children of the calling thread. Much faster.
std::vector<pid_t> own_children();
// Whether the calling thread has a child that it may kill: not one of another user, as sudo starts them.
bool has_killable_child();

struct Sweep {
  // Lists the processes to end; their descendants are ended with them.
  std::function<std::vector<pid_t>()> roots;
  // Called between passes; reaps those that are children of the caller.
  std::function<void()> reap = [] {};
  // Whether the ids of roots cannot be reused, because their parent is the caller or is stopped: then signals need no
  // check. Processes that replace themselves all the time are too fast for checks; they become roots if that parent is
  // a subreaper.
  bool roots_keep_ids = false;
  // After this time the sweep gives up. Processes that wait for a disk or a network file system end late.
  std::chrono::milliseconds limit = std::chrono::seconds(5);
};

// Stops all processes before it kills any: those that have been stopped start no others, so that the passes converge.
// Blocks for at most about `limit`. Returns an error message that names what could not be ended, empty on success.
std::string run_sweep(const Sweep& sweep);

}  // namespace allm
