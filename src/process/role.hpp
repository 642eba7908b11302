// The role in which this executable was started. The program re-executes itself as the process supervisor, and the
// supervisor re-executes it as workers.
#pragma once

#include <cstdint>
#include <sys/types.h>

namespace allm {

enum class ProcessRole : std::uint8_t { program, supervisor, worker };

struct StartedAs {
  ProcessRole role = ProcessRole::program;
  pid_t parent = 0;  // the process that started this one
};

// The socket to the process that started this one; supervisors and workers have it.
inline constexpr int kLineFd = 3;
// A pipe whose other end only the program holds; supervisors have it.
inline constexpr int kLifelineFd = 4;
// A pipe to the program, into which guards write the ids of jobs that have succeeded; supervisors have it.
inline constexpr int kEndsFd = 5;

// Reads the role from the environment and removes it there. Call it once, before any thread is started.
StartedAs take_role();
// The environment variable that carries the role.
inline constexpr const char* kRoleVariable = "ALLM_STARTED_AS";

// Whether main calls run_as_worker_if_asked. Without that call the program must not re-execute itself.
void set_has_worker_entry_point();
bool has_worker_entry_point();

}  // namespace allm
