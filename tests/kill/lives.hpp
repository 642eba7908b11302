// Starts the program under test, and kills it.
#pragma once

#include <chrono>
#include <cstdint>

#include "tests/kill/life.hpp"

namespace allm::kill_matrix {

struct LifeEnd {
  int status = 0;                              // as waitpid gives it
  std::int64_t stops = 0;                      // entries and exits of system calls, for DeathKind::at_system_call
  std::int64_t call = -1;                      // the system call at which it was killed; -1: at the exit of one
  std::chrono::microseconds after_opening{0};  // from the opened store to the end
  bool was_killed() const;
  bool ended_with(int exit_status) const;
};

// Runs one life of the program to its end. The calling thread must have no other children.
LifeEnd live_once(const Life& life);

// The life that the command line of a started program describes.
bool is_life(int argc, char** argv);
Life life_from(char** argv);

}  // namespace allm::kill_matrix
