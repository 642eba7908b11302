// Tools that try to leave processes behind or to get rid of the processes that watch them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "allm/tool.hpp"

namespace allm::testing::hostile_processes {

// Attacks in the calling process. Every process that it leaves behind has `mark`, at most 15 bytes, as its name
// (/proc/PID/comm). Kinds that end with "_and_stays" do not return.
void attack_supervision(const std::string& kind, const std::string& mark);

// The same as a worker tool and as a command. The worker tool takes the arguments `kind` and `mark`.
Tool hostile_worker();
Tool hostile_command(const std::string& kind, const std::string& mark);

// A mark that no other test, also one that runs at the same time, uses.
std::string new_mark();
// The processes with this mark that are alive, as this process sees them.
std::vector<int> survivors(const std::string& mark);

}  // namespace allm::testing::hostile_processes
