// What a process of ours was started as. The program starts itself again to be its supervisor, and that does so for
// workers.
#pragma once

#include <cstdint>
#include <sys/types.h>

namespace allm {

enum class ProcessRole : std::uint8_t { program, supervisor, worker };

struct StartedAs {
  ProcessRole role = ProcessRole::program;
  pid_t parent = 0;  // who started it
};

// The socket that leads to who started this process, for all but the program.
inline constexpr int kLineFd = 3;

// Reads it from the environment, and removes it there. Once, before there are threads.
StartedAs take_role();
// The variable that tells a child, "NAME=value".
inline constexpr const char* kRoleVariable = "ALLM_STARTED_AS";

// Whether this program gives way to the above at the top of its main. Without that it must not start itself.
void set_gives_way();
bool gives_way();

}  // namespace allm
