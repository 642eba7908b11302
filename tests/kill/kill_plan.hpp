// What the two sides of the kill matrix share: the program that is killed, and the one that kills it and counts.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "allm/tool.hpp"

namespace allm::kill_matrix {

// Of a session that a program runs.
inline constexpr std::chrono::milliseconds kLease = std::chrono::seconds(3);

// How one life of the program is to end.
struct Death {
  std::string when = "never";  // "never", "before" or "after" a commit, "random"
  int commit = 0;              // counted from 1, for "before" and "after"
};

struct Life {
  std::string store;    // URL
  std::string session;  // id
  std::string effects;  // the file to which tools and the model append a line for each execution
  std::string lane;     // "thread" or "worker"
  Death death;
};

// The tools of the program; also those of its worker processes. Calls of "note" must not run twice, calls of "again"
// may.
std::vector<Tool> kill_tools(const std::string& lane);

// The program that is killed: runs the session to its end. Returns its exit status.
int live(const Life& life);

}  // namespace allm::kill_matrix
