// PID namespaces: the kernel ends everything in one when its first process ends, and nothing in it can name a process
// outside.
#pragma once

#include <array>
#include <expected>
#include <string>
#include <sys/types.h>

namespace allm {

// How this user makes them.
struct PidNamespaces {
  bool with_user_namespace = false;  // without privileges, a user namespace of its own is needed
  bool own_proc = false;             // whether /proc can show the processes of the namespace only
};

// Makes one in a child process that ends at once. The error says why this machine does not allow it. Blocks for a few
// milliseconds. Safe to call from any thread; sends no SIGCHLD.
std::expected<PidNamespaces, std::string> probe_pid_namespaces();

// The user's ids as the kernel wants them, prepared before the fork.
struct IdMaps {
  IdMaps();
  std::array<char, 32> user{};
  std::array<char, 32> group{};
};

// As fork(), without handlers of pthread_atfork; the child is process 1 of a new namespace. -1 with errno on failure.
pid_t fork_into_pid_namespace(bool with_user_namespace, int end_signal);
// Called by that child: sets up the ids and mounts /proc. Makes system calls only. 0, or an errno. A /proc that cannot
// be mounted is not a failure: `own_proc` is false then.
int set_up_pid_namespace(bool with_user_namespace, const IdMaps& maps, bool& own_proc);

}  // namespace allm
